package httpapi

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
)

// documentedBounds are the rows of the table of limits in docs/API.md whose bounds the engine
// has: what is bounded, and the bounds.
var documentedBounds = [][2]string{
	{"body: one payment, batch, other, list upload", inBytes(engine.ScreenBodyMax) + ", " + inBytes(engine.BatchBodyMax) + ", " + inBytes(engine.BodyMax) + ", " + inBytes(engine.ListUploadMax)},
	{"payments in a batch; headers; token", grouped(engine.BatchMax) + "; " + inBytes(engine.HeaderMax) + "; " + inBytes(engine.TokenMax)},
	{"JSON depth; members of an object; values of a payment; of another body", grouped(engine.JSONDepthMax) + "; " + grouped(engine.JSONMembersMax) + "; " + grouped(engine.ScreenValuesMax) + "; " + grouped(engine.BodyValuesMax)},
	{"names; `purpose`, `note`, `notes`, `reason`, `metadata`, comments; other texts", grouped(engine.NameRunesMax) + " characters; " + inBytes(engine.TextMax) + "; " + grouped(engine.FieldMax) + " bytes"},
	{"whitelist entries; children of one parent; generations below the root", grouped(engine.WhitelistMax) + "; " + grouped(engine.ChildrenMax) + "; " + grouped(engine.DepthMax)},
	{"agents of one fleet; agents of one user; comments of one key about one review", grouped(engine.FleetAgentsMax) + "; " + grouped(engine.UserAgentsMax) + "; " + grouped(engine.CommentsOfKeyMax)},
}

func inBytes(n int) string {
	if n%engine.MiB == 0 {
		return grouped(n/engine.MiB) + " MiB"
	}
	return grouped(n/engine.KiB) + " KiB"
}

// grouped writes a number with commas between thousands.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return grouped(n/1000) + fmt.Sprintf(",%03d", n%1000)
}

// The table of limits in docs/API.md has the bounds of engine/limits.go.
func TestBoundsAreDocumented(t *testing.T) {
	const path = "../docs/API.md"
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	page := string(data)
	for _, row := range documentedBounds {
		line := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(row[0]) + ` \| .* \|$`)
		require.Len(t, line.FindAllString(page, -1), 1, "docs/API.md: %s", row[0])
		page = line.ReplaceAllLiteralString(page, "| "+row[0]+" | "+row[1]+" |")
	}
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(page), 0o644))
		return
	}
	require.True(t, page == string(data), "docs/API.md has other bounds than engine/limits.go: run go test ./httpapi -run %s -update", t.Name())
}
