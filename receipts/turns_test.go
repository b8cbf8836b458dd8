package receipts

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestTurnsFIFO(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &turns{most: 3}
		if err := q.take(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		order := make(chan int, 3)
		for i := range 3 {
			go func() {
				if q.take(t.Context(), false) == nil {
					order <- i
					q.pass()
				}
			}()
			synctest.Wait()
		}
		if err := q.take(t.Context(), false); !errors.Is(err, ErrBusy) {
			t.Fatalf("a fourth that waits: %v, want ErrBusy", err)
		}
		q.pass()
		for want := range 3 {
			if got := <-order; got != want {
				t.Fatalf("turn %d went to caller %d", want, got)
			}
		}
	})
}

func TestTurnsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &turns{most: 2}
		if err := q.take(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() { gone <- q.take(ctx, false) }()
		synctest.Wait()
		next := make(chan error, 1)
		go func() { next <- q.take(t.Context(), false) }()
		synctest.Wait()
		cancel()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled: %v", err)
		}
		q.pass()
		if err := <-next; err != nil {
			t.Fatalf("the one behind: %v", err)
		}
		q.pass()
		if err := q.take(ctx, false); !errors.Is(err, context.Canceled) {
			t.Fatalf("a caller that gave up beforehand: %v", err)
		}
	})
}

func TestTurnsClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &turns{most: 2}
		if err := q.take(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		waiting := make(chan error, 1)
		go func() { waiting <- q.take(t.Context(), false) }()
		synctest.Wait()
		closed := make(chan struct{})
		go func() { q.close(); close(closed) }()
		synctest.Wait()
		select {
		case <-closed:
			t.Fatal("closed while a call had the turn")
		default:
		}
		q.pass()
		if err := <-waiting; !errors.Is(err, ErrClosed) {
			t.Fatalf("one that waited: %v, want ErrClosed", err)
		}
		<-closed
		if err := q.take(t.Context(), false); !errors.Is(err, ErrClosed) {
			t.Fatalf("after: %v, want ErrClosed", err)
		}
	})
}
