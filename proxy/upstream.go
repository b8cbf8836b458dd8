package proxy

import (
	"context"
	"errors"
)

// Upstream is the tool server as a connection sees it. Its methods may be called
// from any goroutine. It numbers the requests it sends itself, so the agent's
// ids and the guard's own never meet.
type Upstream interface {
	// Await waits until the server can be spoken to, which takes no time unless
	// it ended and is being started again. The error wraps [ErrUpstreamClosed],
	// or is the context's cause. Everything else of Upstream fails meanwhile.
	Await(ctx context.Context) error

	// There says whether the server can be spoken to now.
	There() bool

	// Open takes a number for a request that Request is about to send. answer is
	// called exactly once, with the response or with why none will come (an
	// error that wraps [ErrUpstreamClosed] or is [ErrUnreadable]), unless
	// Forget comes first or Request fails. Answers and the messages of the
	// Receiver are given one after the other, in the order they came; answer
	// owns the message and must not block for long.
	Open(answer func(*Message, error)) (number int64, err error)

	// Request sends a request under its number. After an error the number is
	// no longer open.
	Request(number int64, m *Message) error

	// Forget gives up waiting for the answer to a request. It reports whether
	// the request was still open; its answer function is then never called, and
	// a late response is dropped.
	Forget(number int64) bool

	// Send sends a notification, or a response under the id the server gave
	// its request.
	Send(m *Message, id []byte) error

	// Put sends one message of the guard's own making.
	Put(line []byte) error
}

// Receiver takes what a server sends of itself: notifications, and requests of
// the eras that have them. It owns the message.
type Receiver func(*Message)

var (
	// ErrUpstreamClosed says that the server's connection ended.
	ErrUpstreamClosed = errors.New("the tool server closed its connection")

	// ErrUnreadable says that the server did answer a request, with a message
	// that cannot be read strictly.
	ErrUnreadable = errors.New("the tool server's answer cannot be read strictly")

	// ErrStalled says that a peer did not take what was sent to it in time.
	ErrStalled = errors.New("the reader at the other end does not read")

	// ErrCrowded says that too many requests are open.
	ErrCrowded = errors.New("too many requests are open")
)

// MaxOpen is how many requests may be open in each direction. Far more than any
// client has at once; it bounds what a peer that answers none can make us keep.
const MaxOpen = 1024
