//go:build !linux

package receipts

import "errors"

func (f *osFile) Sync() error { return f.File.Sync() }

func (f *osFile) Reserve(off, n int64) error { return errors.ErrUnsupported }
