package receipts

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUs says whether a file belongs to the user this program runs as.
func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
