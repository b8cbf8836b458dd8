package engine

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"countersign/internal/casefold"
	"countersign/internal/ijson"
	"countersign/internal/pathtext"
	"countersign/internal/verdict"
	"countersign/rules"
)

// compiler turns what the rules say into what is judged, sharing what stands in
// several rules.
type compiler struct {
	folder   casefold.Folder
	scalars  map[scalarKey]*scalarSet
	texts    map[textKey]*textSet
	patterns map[*regexp.Regexp]*pattern
	left     tables        // what tables of patterns may still take
	anchors  *anchors      // of all pointers
	disk     pathtext.Disk // nil: no test may ask for it
	// Of the rule being compiled, its text and its pointer in the file.
	rule        ijson.Value
	rulePointer string
	selections  map[string]*selection
}

// A named list is one slice wherever it is used, so its first entry's address
// tells it.
type scalarKey struct {
	first *rules.Scalar
	n     int
	fold  bool
}

type textKey struct {
	first *string
	n     int
	fold  bool
}

func newCompiler() *compiler {
	return &compiler{scalars: map[scalarKey]*scalarSet{}, texts: map[textKey]*textSet{},
		patterns: map[*regexp.Regexp]*pattern{}, left: tables{maxTables, maxTableWork}, anchors: newAnchors(), selections: map[string]*selection{}}
}

// check compiles one test; fold says that it compares folded texts.
func (c *compiler) check(src *rules.Check, fold bool) (check, error) {
	k := check{src: src, fold: fold}
	var err error
	if k.operand, err = c.operand(src); err != nil {
		return k, err
	}
	switch src.Kind {
	case rules.Present:
		k.applies = kindAll
	case rules.OfType:
		k.applies = kindAll
		k.types, k.whole, err = typeKinds(src.Types)
	case rules.Is, rules.OneOf:
		k.values, err = c.scalarSet(src.Values, fold)
		if err == nil {
			k.applies = k.values.kinds
		}
	case rules.Contains, rules.StartsWith, rules.EndsWith:
		k.applies = kindString
		if k.texts, err = c.textSet(src.Texts, fold); err == nil {
			k.texts.prepare(src.Kind)
		}
	case rules.Like:
		k.applies = kindString
		if k.globs = src.Globs; k.globs == nil {
			err = fmt.Errorf("globs that are not compiled")
		}
	case rules.Matches, rules.Finds:
		k.applies, k.fold = kindString, false
		if src.Regexp == nil {
			err = fmt.Errorf("a pattern that is not compiled")
			break
		}
		if k.pattern = c.patterns[src.Regexp]; k.pattern == nil {
			k.pattern = patternOf(src.Pattern, src.Regexp, &c.left)
			c.patterns[src.Regexp] = k.pattern
		}
	case rules.Length:
		k.applies = kindString | kindArray | kindObject
	case rules.Above, rules.AtLeast, rules.Below, rules.AtMost:
		k.applies = kindNumber
	case rules.OnlyMembers, rules.HasMembers:
		k.applies = kindObject
		k.names = make(map[string]int, len(src.Names))
		for _, n := range src.Names {
			if fold {
				n = c.folder.Text(n)
			}
			if _, known := k.names[n]; !known {
				k.names[n] = len(k.names)
			}
		}
	case rules.Path, rules.URL, rules.Email:
		k.applies, k.fold = kindString, false
		k.typed, err = c.judge(src)
	case rules.Command:
		k.applies, k.fold = kindString|kindArray, false
		k.typed, err = c.judge(src)
	case rules.JSON:
		k.applies, k.fold = kindString, false
		k.inner, err = c.condition(src.JSON)
		if err == nil && k.inner == nil {
			err = fmt.Errorf("a test of no condition")
		}
		if err == nil {
			k.known, err = k.inner.known()
		}
	default:
		err = fmt.Errorf("an unknown test %q", src.Kind)
	}
	if err != nil {
		return k, fmt.Errorf("%s: %w", src.Pointer, err)
	}
	return k, nil
}

// judge is a check's judge of texts; one that follows links is given the disk.
func (c *compiler) judge(src *rules.Check) (rules.Judge, error) {
	if src.Judge == nil {
		return nil, fmt.Errorf("a test without its judge")
	}
	if p, ok := src.Judge.(*pathtext.Judge); ok && p.Operand().Resolve == pathtext.OnDisk {
		if c.disk == nil {
			return nil, fmt.Errorf(`a path test with "resolve": "disk", and no disk is given`)
		}
		return p.WithDisk(c.disk), nil
	}
	return src.Judge, nil
}

// argvJudge is a judge that takes a list of words too.
type argvJudge interface {
	JudgeArgv(words []string) (verdict.Result, string)
}

// operand finds a test's operand in the text of the file being compiled.
func (c *compiler) operand(src *rules.Check) (ijson.Value, error) {
	under, ok := strings.CutPrefix(src.Pointer, c.rulePointer)
	v, err := c.rule.Pointer(under)
	if !ok || err != nil || !v.Exists() {
		return v, fmt.Errorf("%s: no test stands there in the file", src.Pointer)
	}
	return v, nil
}

// maxOperand is how much of an operand is told, in bytes: more than stands on a
// line of a rules file.
const maxOperand = 300

// operandText is a check's operand as it stands in the file, without its layout: a
// named list is its name and no more.
func (k *check) operandText() string {
	b := ijson.AppendCanonical(nil, k.operand)
	if len(b) <= maxOperand {
		return string(b)
	}
	n := maxOperand
	for !utf8.RuneStart(b[n]) {
		n--
	}
	return string(b[:n]) + "…"
}

func typeKinds(types []rules.Type) (k kinds, whole bool, err error) {
	for _, t := range types {
		switch t {
		case rules.TypeString:
			k |= kindString
		case rules.TypeNumber:
			k |= kindNumber
		case rules.TypeInteger:
			whole = true
		case rules.TypeBoolean:
			k |= kindBool
		case rules.TypeNull:
			k |= kindNull
		case rules.TypeObject:
			k |= kindObject
		case rules.TypeArray:
			k |= kindArray
		default:
			return 0, false, fmt.Errorf("an unknown type %q", t)
		}
	}
	return k, whole, nil
}

func (c *compiler) scalarSet(values []rules.Scalar, fold bool) (*scalarSet, error) {
	if len(values) == 0 {
		return nil, fmt.Errorf("a test of no values")
	}
	key := scalarKey{&values[0], len(values), fold}
	if s := c.scalars[key]; s != nil {
		return s, nil
	}
	s := &scalarSet{texts: map[string]bool{}, numbers: map[float64]bool{}}
	for _, v := range values {
		switch v.Type {
		case rules.TypeString:
			s.kinds |= kindString
			if fold {
				v.Text = c.folder.Text(v.Text)
			}
			if !s.texts[v.Text] {
				s.texts[v.Text] = true
				s.few = append(s.few, v.Text)
			}
		case rules.TypeNumber, rules.TypeInteger:
			s.kinds |= kindNumber
			s.numbers[v.Number] = true
		case rules.TypeBoolean:
			s.kinds |= kindBool
			if v.Bool {
				s.bools[1] = true
			} else {
				s.bools[0] = true
			}
		case rules.TypeNull:
			s.kinds |= kindNull
		default:
			return nil, fmt.Errorf("an entry that is no scalar")
		}
	}
	if len(s.few) > fewTexts {
		s.few = nil
	}
	c.scalars[key] = s
	return s, nil
}

func (c *compiler) textSet(texts []string, fold bool) (*textSet, error) {
	if len(texts) == 0 {
		return nil, fmt.Errorf("a test of no texts")
	}
	key := textKey{&texts[0], len(texts), fold}
	if s := c.texts[key]; s != nil {
		return s, nil
	}
	s := &textSet{texts: texts}
	if fold {
		s.texts = make([]string, len(texts))
		for i, t := range texts {
			s.texts[i] = c.folder.Text(t)
		}
	}
	for i, t := range s.texts {
		if t == "" {
			return nil, fmt.Errorf("text %d has nothing left once it is folded, so every text would hold it", i+1)
		}
	}
	c.texts[key] = s
	return s, nil
}
