//go:build !race

package receipts_test

const raceEnabled = false
