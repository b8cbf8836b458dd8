package pathtext

import "golang.org/x/sys/unix"

// magic reports whether a folder lies on a process file system, wherever that is
// mounted; one that cannot be told counts as one.
func magic(folder string) bool {
	var s unix.Statfs_t
	for {
		err := unix.Statfs(folder, &s)
		if err == unix.EINTR {
			continue
		}
		return err != nil || int64(s.Type) == unix.PROC_SUPER_MAGIC
	}
}
