package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"railguard/console/signin"
	"railguard/seal"
)

// Root is the path of the console.
const Root = "/console"

const (
	idleDefault = 15 * time.Minute

	// LongestSession is the longest that a session lasts.
	LongestSession = 12 * time.Hour

	// CallbackPath is where an identity provider sends a person back to.
	CallbackPath = Root + "/signin/oidc/callback"
)

// policy is the Content-Security-Policy of every answer below Root. It allows no Trusted
// Types policy, so no text can become markup or code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Config is what the console needs.
type Config struct {
	API     http.Handler  // The public API, which answers everything outside of Root too.
	Secrets *seal.Secrets // Seals sessions; the same on all nodes.
	Uploads http.Handler  // Takes list files at uploadPath and applies its own checks; nil: the console takes none.
	SignIn  *signin.Door  // Signs persons in by an identity provider; nil: there is none.
	Bundles http.Handler  // Makes an examiner's bundle by the caller's key; nil: the console hands out none.
	People  http.Handler  // Makes and ends keys and passkeys at peoplePaths, and applies its own checks; nil: not through the console.
	Secure  bool          // Callers use TLS: the cookie is sent over TLS alone.

	Idle    time.Duration    // How long a session lasts without a call of a person; 0: 15 minutes.
	Longest time.Duration    // The longest that a session lasts; 0: 12 hours.
	Now     func() time.Time // nil: time.Now.
}

//go:embed web
var web embed.FS

// file is one embedded file, ready to be sent.
type file struct {
	data []byte
	kind string
	tag  string
}

// Console is an http.Handler. It is safe for concurrent use and keeps no state:
// any node serves any session.
type Console struct {
	config Config
	files  map[string]*file // Files by their path below Root.
	index  *file            // The only HTML page.
}

// New returns a handler that serves the console and passes all other calls to the API.
func New(config Config) (*Console, error) {
	if config.API == nil || config.Secrets == nil {
		return nil, errors.New("console: API and secrets are required")
	}
	if config.Idle == 0 {
		config.Idle = idleDefault
	}
	if config.Longest == 0 {
		config.Longest = LongestSession
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	c := &Console{config: config, files: make(map[string]*file)}
	err := fs.WalkDir(web, "web", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return c.addFile(name)
	})
	if err != nil {
		return nil, fmt.Errorf("console: embedded files: %w", err)
	}
	c.index = c.files["/web/index.html"]
	return c, nil
}

// kinds maps file extensions to content types, so that they do not depend on the machine.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

func (c *Console) addFile(name string) error {
	data, err := web.ReadFile(name)
	if err != nil {
		return err
	}
	kind := kinds[path.Ext(name)]
	if kind == "" {
		return fmt.Errorf("%s has no content type", name)
	}
	sum := sha256.Sum256(data)
	c.files["/"+name] = &file{data: data, kind: kind, tag: `"` + hex.EncodeToString(sum[:8]) + `"`}
	return nil
}

// ServeHTTP answers what is below Root and leaves everything else to the API.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	below, ours := strings.CutPrefix(r.URL.Path, Root)
	if !ours || below != "" && below[0] != '/' {
		c.config.API.ServeHTTP(w, r)
		return
	}
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("X-Frame-Options", "DENY") // For browsers that do not support frame-ancestors.
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Opener-Policy", "same-origin")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	head.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	switch {
	case r.URL.RawPath != "":
		writeError(w, http.StatusNotFound, "not_found", "a path of the console has no escapes")
	case below == "/session":
		c.handleSession(w, r)
	case below == "/signin/oidc":
		c.beginSignIn(w, r)
	case Root+below == CallbackPath:
		c.finishSignIn(w, r)
	case strings.HasPrefix(below, "/people/"):
		c.forwardPeople(w, r, "/admin/"+below[len("/people/"):])
	case below == "/upload":
		c.forwardUpload(w, r)
	case below == "/bundle":
		c.forwardBundle(w, r)
	case strings.HasPrefix(below, "/api/"):
		c.forwardCall(w, r, "/v1/"+below[len("/api/"):])
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		head.Set("Allow", "GET, HEAD")
		writeError(w, http.StatusMethodNotAllowed, "method_not_allowed", "pages are read, not changed")
	case below == "":
		http.Redirect(w, r, Root+"/", http.StatusPermanentRedirect)
	default:
		c.servePage(w, r, below)
	}
}

// servePage sends an embedded file, or else the only HTML page. That page's modules read the
// path and show the view that belongs to it, so every view has an address.
func (c *Console) servePage(w http.ResponseWriter, r *http.Request, below string) {
	found := c.files[below]
	if found == nil {
		if strings.HasPrefix(below, "/web/") {
			writeError(w, http.StatusNotFound, "not_found", "no such file")
			return
		}
		found = c.index
	}
	head := w.Header()
	head.Set("Content-Type", found.kind)
	head.Set("Cache-Control", "no-cache") // The browser asks again each time, because nodes may run two versions.
	head.Set("ETag", found.tag)
	if r.Header.Get("If-None-Match") == found.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(found.data)
}
