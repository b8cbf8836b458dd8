package proxy

import (
	"bufio"
	"errors"
	"io"
)

// readBuffer is how much is asked of a pipe at once: what a pipe holds on Linux.
const readBuffer = 64 << 10

// flaw is what is wrong with a line before anybody reads it as JSON.
type flaw uint8

const (
	sound        flaw = iota
	tooLong           // more bytes than allowed; none are kept
	unterminated      // the input ended before the line did
)

// lineReader cuts a stream into lines that end in LF or CR LF. How the stream
// arrives in pieces makes no difference to the lines. It is for one goroutine.
type lineReader struct {
	r   *bufio.Reader
	max int // bytes of one line, its end not counted
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{bufio.NewReaderSize(r, readBuffer), max}
}

// next reads the next line into buf[:0] and returns it without its end. A line
// over the limit is not kept: it is read to its end, its id picked out on the
// way where it has one, and given as tooLong with id in place of a line. The
// error is io.EOF once nothing is left, or that of the stream.
func (l *lineReader) next(buf []byte) (line, id []byte, f flaw, err error) {
	line = buf[:0]
	var finder *idFinder
	for {
		piece, err := l.r.ReadSlice('\n')
		switch {
		case finder != nil:
			finder.feed(piece)
		case len(line)+len(piece) > l.max+2: // the line's end is at most CR LF
			finder = new(idFinder)
			finder.feed(line)
			finder.feed(piece)
			line = nil
		default:
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && finder == nil && len(line) == 0:
			return nil, nil, sound, err
		case finder != nil:
			return nil, finder.id(), tooLong, nil
		case err != nil:
			// The error is met again, at the next call, with nothing before it.
			return line, nil, unterminated, nil
		}
		line = line[:len(line)-1]
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if len(line) > l.max {
			finder = new(idFinder)
			finder.feed(line)
			return nil, finder.id(), tooLong, nil
		}
		return line, nil, sound, nil
	}
}

// blank says whether a line holds nothing but white space.
func blank(line []byte) bool {
	for _, c := range line {
		if c != ' ' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}
