//go:build !unix

package main

// writable is not known ahead on this system: making the file tells.
func writable(string) error { return nil }
