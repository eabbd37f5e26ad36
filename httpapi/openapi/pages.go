package openapi

import (
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"sync"

	"github.com/swaggest/swgui/v5/static"
)

//go:embed explorer.html explorer.js changes.json
var files embed.FS

// File is one served file.
type File struct {
	Path string // Path of its URL.
	Type string // Content-Type.
	Read func() ([]byte, error)
}

// Policy is the Content-Security-Policy of the explorer: it allows this server only.
const Policy = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Files returns the document, the explorer's files and the feed of changes.
func Files() []File {
	return []File{
		{"/openapi.json", "application/json", Document},
		{"/docs", "text/html; charset=utf-8", own("explorer.html")},
		{"/docs/explorer.js", "text/javascript; charset=utf-8", own("explorer.js")},
		{"/docs/swagger-ui-bundle.js", "text/javascript; charset=utf-8", unpacked("swagger-ui-bundle.js.gz")},
		{"/docs/swagger-ui.css", "text/css; charset=utf-8", unpacked("swagger-ui.css.gz")},
		{"/docs/changelog.json", "application/feed+json", own("changes.json")},
	}
}

func own(name string) func() ([]byte, error) {
	return func() ([]byte, error) { return files.ReadFile(name) }
}

// unpacked returns a file of Swagger UI; its module holds the files compressed.
func unpacked(name string) func() ([]byte, error) {
	return sync.OnceValues(func() ([]byte, error) {
		packed, err := static.FS.Open(name)
		if err != nil {
			return nil, fmt.Errorf("explorer: %w", err)
		}
		defer func() { _ = packed.Close() }()
		reader, err := gzip.NewReader(packed)
		if err != nil {
			return nil, fmt.Errorf("explorer %s: %w", name, err)
		}
		return io.ReadAll(reader)
	})
}
