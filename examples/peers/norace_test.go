//go:build !race

package peers_test

const raced = false
