//go:build !unix

package plainfile

// NoWait, a flag for [os.OpenFile], does nothing here: no pipe has a path.
const NoWait = 0

// NoFollow, a flag for [os.OpenFile], does nothing here: who opens a file looks
// afterwards whether it is a link.
const NoFollow = 0
