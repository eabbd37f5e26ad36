package railguard

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// clientPath is the path of the Go client's module. It stands in client/go.mod.
var clientPath = sync.OnceValue(func() string {
	raw, err := os.ReadFile("client/go.mod")
	if err != nil {
		panic(err)
	}
	first, _, _ := strings.Cut(string(raw), "\n")
	return strings.TrimPrefix(first, "module ")
})

// roomOf returns an imported path as the law writes it: the client's module, whatever its path, is the room
// client.
func roomOf(imported string) string {
	if inner, ours := strings.CutPrefix(imported, clientPath()); ours && (inner == "" || inner[0] == '/') {
		return module + "/client" + inner
	}
	return imported
}

// namedClient matches a module path that ends with the folder client, or one of a package in it.
var namedClient = regexp.MustCompile(`"[\w.-]+(?:/[\w.-]+)*/client(?:/[\w./-]+)?"|[\w./-]*railguard/client\b`)

// TestClientPathIsOne: `go get` can take the path, and no file names the module by another one. The word
// that moves it is make module-path.
func TestClientPathIsOne(t *testing.T) {
	path := clientPath()
	require.Regexp(t, `^[a-z0-9-]+(\.[a-z0-9-]+)+(/[\w.-]+)*/client$`, path, "go get takes paths with a dot in their first part")
	list, err := exec.Command("git", "ls-files", "--", "client", "bench", "docs", "Makefile", "README.md", "CHANGELOG.md").Output()
	require.NoError(t, err)
	named := 0
	for _, name := range strings.Fields(string(list)) {
		if !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".mod") && !strings.HasSuffix(name, ".md") && name != "Makefile" {
			continue
		}
		for _, found := range namedClient.FindAllString(text(t, name), -1) {
			found = strings.Trim(found, `"`)
			if strings.HasPrefix(found, "../") || strings.HasPrefix(found, "/") || strings.HasPrefix(found, "./") || !strings.HasSuffix(name, ".go") && !strings.Contains(found, "railguard/") {
				continue // A folder.
			}
			named++
			require.True(t, found == path || strings.HasPrefix(found, path+"/"), "%s names the Go client %q: make module-path TO=%s", name, found, path)
		}
	}
	require.Greater(t, named, 20)
}
