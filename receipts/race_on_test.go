//go:build race

package receipts_test

// raceEnabled: the race detector makes signatures some ten times as slow.
const raceEnabled = true
