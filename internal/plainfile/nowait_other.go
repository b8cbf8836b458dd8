//go:build !unix

package plainfile

// NoWait, a flag for [os.OpenFile], does nothing here: no pipe has a path.
const NoWait = 0
