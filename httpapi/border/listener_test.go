package border

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A public name that leads to the admin listener is a stranger's (DNS rebinding).
func TestNamesOfTheHouse(t *testing.T) {
	for host, ours := range map[string]bool{
		"127.0.0.1:8081": true, "[::1]:8081": true, "10.0.0.7": true, "localhost:8081": true, "node1:8081": true, "": true,
		"railguard-0.railguard.pay.svc:8081": true, "railguard-0.railguard.pay.svc.cluster.local:8081": true, "n1.bank.internal": true,
		"evil.example:8081": false, "127.0.0.1.evil.example": false, "localhost.evil.example.": false, "a.localhost.example": false, "EVIL.example": false,
	} {
		require.Equal(t, ours, isHouseName(host), host)
	}
}
