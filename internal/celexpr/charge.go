package celexpr

import (
	"math"

	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// charge adds to the cost of a call, while it runs, what neither cel-go's model nor
// the estimate knows: what is nested in the values an expression makes (a list that
// holds another many times over is small to make and large to compare), the length
// of what is printed, and the texts in a list of words. Values of the call are
// charged where they are touched.
type charge struct{ limits Limits }

// freeNested is how many nested items cost nothing more: lists of pairs and the
// like, of which the usual cost of a call is enough.
const freeNested = 64

// CallCost gives the cost of a call that is over the usual one, else nil.
func (c charge) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	extra, free := uint64(0), uint64(freeNested)
	switch {
	case len(args) < 2:
		return nil
	case function == operators.Equals, function == operators.NotEquals:
		extra = min(c.nested(args[0]), c.nested(args[1]))
	case function == operators.In:
		extra = c.nested(args[1])
	case function == "format":
		if s, ok := result.(types.String); ok {
			extra, free = uint64(len(s))/10, uint64(c.limits.Text)/10
		}
	}
	if extra <= free {
		return nil
	}
	extra++
	return &extra
}

// trackers are the costs of overloads that have a model already, which asks no
// [charge].
func (c charge) trackers() []cost.TrackerOption {
	// Every item of one set is compared with every item of the other.
	sets := func(ways uint64) cost.FunctionTracker {
		return func(args []ref.Val, _ ref.Val) *uint64 {
			a, b := items(args[0]), items(args[1])
			n := 1 + times(ways, times(a, b))
			if nested := times(c.nested(args[0]), b) + times(c.nested(args[1]), a); nested > freeNested {
				n += nested
			}
			return &n
		}
	}
	o := []cost.TrackerOption{
		cost.OverloadTracker("list_sets_contains_list", sets(1)),
		cost.OverloadTracker("list_sets_equivalent_list", sets(2)),
		cost.OverloadTracker("list_sets_intersects_list", sets(1)),
	}
	for _, kind := range typedKinds {
		o = append(o, cost.OverloadTracker("typed_"+kind, judged))
	}
	return o
}

// judged is the cost of a typed test: that of [judging], for a list of words that
// of all of them.
func judged(args []ref.Val, _ ref.Val) *uint64 {
	var n uint64
	if s, ok := args[0].(types.String); ok {
		n = uint64(len(s))
	} else {
		n = wordBytes(args[0])
	}
	w, _ := args[2].(types.Int)
	n = 10 + times(n, uint64(max(w, 1)))/10
	return &n
}

func times(a, b uint64) uint64 {
	if b > 0 && a > math.MaxUint32/b {
		return math.MaxUint32
	}
	return a * b
}

// items is the number of items of a list.
func items(v ref.Val) uint64 {
	if l, ok := v.(traits.Lister); ok {
		if n, ok := l.Size().(types.Int); ok {
			return uint64(n)
		}
	}
	return 1
}

// nested counts the items of lists and maps within a list or map, up to the budget.
func (c charge) nested(v ref.Val) uint64 {
	most := c.limits.Cost + 1
	n := uint64(0)
	var walk func(v ref.Val, depth int)
	walk = func(v ref.Val, depth int) {
		var it traits.Iterator
		var of traits.Mapper
		switch v := v.(type) {
		case *list, *object: // charged where they are touched
			return
		case traits.Lister:
			it = v.Iterator()
		case traits.Mapper:
			it, of = v.Iterator(), v
		default:
			return
		}
		for n < most && it.HasNext() == types.True {
			if depth > 0 {
				n++
			}
			e := it.Next()
			if of != nil {
				e, _ = of.Find(e)
			}
			walk(e, depth+1)
		}
	}
	walk(v, 0)
	return n
}

// wordBytes is the length of all texts of a list.
func wordBytes(v ref.Val) (n uint64) {
	switch v := v.(type) {
	case *list:
		return uint64(v.v.End() - v.v.Start())
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if s, ok := it.Next().(types.String); ok {
				n += uint64(len(s))
			}
		}
	}
	return n
}
