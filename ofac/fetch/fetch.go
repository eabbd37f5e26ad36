package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"railguard/ofac/feed"
)

// The reasons why a download fails, apart from network errors.
var (
	ErrURL      = errors.New("URL is not allowed")       // The URL is not https, or has a user name.
	ErrRedirect = errors.New("redirect is not allowed")  // A redirect leads to another scheme than https, or there are too many.
	ErrStatus   = errors.New("unexpected HTTP status")   // Neither 200 nor 304.
	ErrTooLarge = errors.New("response is too large")    // Beyond FileBytesMax or TotalBytesMax.
	ErrEmpty    = errors.New("response has no content")  // Status 200 without content.
	ErrStalled  = errors.New("response stands still")    // No byte for StallTimeout.
	ErrOrigins  = errors.New("no origin gave the lists") // Every origin failed.
)

// Fetch downloads all files from the first origin that provides all of them. An origin
// whose files are all unchanged since Source.Known counts as one that does. The error joins
// the errors of all origins; errors.Is finds the reasons.
func Fetch(ctx context.Context, source Source) (Result, error) {
	source = withDefaults(source)
	ctx, cancel := context.WithTimeout(ctx, source.Timeout)
	defer cancel()
	var failures []error
	for _, origin := range source.Origins {
		result, err := fetchOrigin(ctx, &source, &origin)
		if err == nil {
			result.Failures = failures
			return result, nil
		}
		failures = append(failures, fmt.Errorf("%s: %w", origin.Name, err))
		if ctx.Err() != nil {
			break
		}
	}
	return Result{}, fmt.Errorf("%w: %w", ErrOrigins, errors.Join(failures...))
}

func withDefaults(source Source) Source {
	if len(source.Origins) == 0 {
		source.Origins = []Origin{SLS(), Treasury()}
	}
	if source.UserAgent == "" {
		source.UserAgent = UserAgentDefault
	}
	if source.Timeout == 0 {
		source.Timeout = TimeoutDefault
	}
	if source.StallTimeout == 0 {
		source.StallTimeout = StallTimeoutDefault
	}
	if source.Resolve == nil {
		source.Resolve = systemResolve
	}
	return source
}

// fetchOrigin gets every file of an origin. When only some of them have changed, it fetches
// the unchanged ones too, since a list is read as a whole.
func fetchOrigin(ctx context.Context, source *Source, origin *Origin) (Result, error) {
	if len(origin.Files) == 0 || len(origin.Files) > FilesMax {
		return Result{}, fmt.Errorf("%d files: between 1 and %d were expected", len(origin.Files), FilesMax)
	}
	d := &download{source: source, origin: origin, client: newClient(source, origin), left: TotalBytesMax}
	defer d.client.CloseIdleConnections()
	result := Result{Origin: origin.Name, NotModified: true}
	answers := make([]answer, len(origin.Files))
	for i, location := range origin.Files {
		var err error
		if answers[i], err = d.getFile(ctx, location, knownTag(source.Known, location.URL)); err != nil {
			return Result{}, fmt.Errorf("%s: %w", location.File, err)
		}
		result.NotModified = result.NotModified && answers[i].unchanged
	}
	for i, location := range origin.Files {
		if answers[i].unchanged && !result.NotModified {
			var err error
			if answers[i], err = d.getFile(ctx, location, Tag{}); err != nil {
				return Result{}, fmt.Errorf("%s: %w", location.File, err)
			}
		}
		result.Tags = append(result.Tags, answers[i].tag)
		if !result.NotModified {
			result.Files = append(result.Files, feed.File{Name: location.File, Data: answers[i].data})
		}
	}
	return result, nil
}

func knownTag(tags []Tag, address string) Tag {
	for _, tag := range tags {
		if tag.URL == address {
			return tag
		}
	}
	return Tag{}
}

// newClient makes a client that keeps to the bounds. It uses no proxy, keeps no cookies and
// does not decompress bodies, so that it counts and hashes exactly the bytes that were
// sent.
func newClient(source *Source, origin *Origin) *http.Client {
	g := guard{allowed: source.Allowed, resolve: source.Resolve, private: privateHosts(origin)}
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            g.dialPermitted,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: source.Roots},
			TLSHandshakeTimeout:    connectTimeout,
			ResponseHeaderTimeout:  source.StallTimeout,
			MaxResponseHeaderBytes: HeaderBytesMax,
			DisableCompression:     true,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > RedirectsMax {
				return fmt.Errorf("more than %d redirects: %w", RedirectsMax, ErrRedirect)
			}
			if err := allowedURL(next.URL, false); err != nil {
				return fmt.Errorf("%w: %w", ErrRedirect, err)
			}
			return nil
		},
	}
}

var defaultPorts = map[string]string{"https": "443", "http": "80"}

// privateHosts are the hosts and ports of an origin's own URLs, if the origin may have
// private addresses.
func privateHosts(origin *Origin) map[string]bool {
	hosts := make(map[string]bool)
	for _, location := range origin.Files {
		if u, err := url.Parse(location.URL); err == nil && origin.Private {
			port := u.Port()
			if port == "" {
				port = defaultPorts[u.Scheme]
			}
			hosts[net.JoinHostPort(u.Hostname(), port)] = true
		}
	}
	return hosts
}

// allowedURL refuses a URL with a user name and any scheme but https, or http where plain
// is allowed. Its error leaves out the query, where signed storage keeps secrets.
func allowedURL(u *url.URL, plain bool) error {
	if u.Scheme != "https" && !(plain && u.Scheme == "http") || u.Host == "" || u.User != nil {
		return fmt.Errorf("%s://%s%s: %w", u.Scheme, u.Host, u.Path, ErrURL)
	}
	return nil
}

// download is the state of the download from one origin.
type download struct {
	source *Source
	origin *Origin
	client *http.Client
	left   int64 // Bytes left of TotalBytesMax.
}

// answer is one file, or says that the file has not changed.
type answer struct {
	unchanged bool
	data      []byte
	tag       Tag
}

// getFile requests one file, on condition that its version is not that of tag.
func (d *download) getFile(ctx context.Context, location Location, tag Tag) (answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, location.URL, nil)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", ErrURL, err)
	}
	if err := allowedURL(request.URL, d.origin.PlainHTTP); err != nil {
		return answer{}, err
	}
	request.Header.Set("User-Agent", d.source.UserAgent)
	request.Header.Set("Accept", "*/*")
	request.Header.Set("Accept-Encoding", "identity")
	if tag.ETag != "" {
		request.Header.Set("If-None-Match", tag.ETag)
	} else if tag.LastModified != "" {
		request.Header.Set("If-Modified-Since", tag.LastModified)
	}
	response, err := d.client.Do(request)
	if err != nil {
		return answer{}, withoutQuery(err)
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotModified && tag != (Tag{}):
		return answer{unchanged: true, tag: tag}, nil
	case response.StatusCode != http.StatusOK:
		return answer{}, fmt.Errorf("%s: %w", response.Status, ErrStatus)
	}
	data, err := d.readBody(ctx, cancel, response)
	if err != nil {
		return answer{}, err
	}
	return answer{data: data, tag: Tag{location.URL, keepHeader(response, "ETag"), keepHeader(response, "Last-Modified")}}, nil
}

// withoutQuery removes the query from the URL in a client error.
func withoutQuery(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		if u, parseErr := url.Parse(failed.URL); parseErr == nil {
			u.RawQuery = ""
			failed.URL = u.Redacted()
		} else {
			failed.URL = "a URL that cannot be read"
		}
	}
	return err
}

// keepHeader returns a header value if it can safely be sent again, else "".
func keepHeader(response *http.Response, header string) string {
	value := response.Header.Get(header)
	if len(value) > TagBytesMax {
		return ""
	}
	for i := range len(value) {
		if value[i] < ' ' || value[i] > '~' {
			return ""
		}
	}
	return value
}

// growBytesMax bounds the memory that is allocated because of a Content-Length.
const growBytesMax = 16 << 20

// readBody reads the content within the bounds of size and of waiting time. net/http fails
// when the content is shorter than announced.
func (d *download) readBody(ctx context.Context, cancel context.CancelCauseFunc, response *http.Response) ([]byte, error) {
	bytesMax := min(int64(FileBytesMax), d.left)
	if response.ContentLength > bytesMax {
		return nil, fmt.Errorf("%d bytes announced, at most %d are read: %w", response.ContentLength, bytesMax, ErrTooLarge)
	}
	stall := time.AfterFunc(d.source.StallTimeout, func() { cancel(ErrStalled) })
	defer stall.Stop()
	var data bytes.Buffer
	if response.ContentLength > 0 { // The announced length is trusted only up to growBytesMax.
		data.Grow(int(min(response.ContentLength, growBytesMax)) + bytes.MinRead)
	}
	moving := reading(func(p []byte) (int, error) {
		n, err := response.Body.Read(p)
		if n > 0 {
			stall.Reset(d.source.StallTimeout)
		}
		return n, err
	})
	_, err := data.ReadFrom(io.LimitReader(moving, bytesMax+1))
	// A cancelled context counts even where the content seems complete: a server may cut
	// the content short and still end it properly while the connection closes.
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return nil, fmt.Errorf("after %d bytes: %w", data.Len(), err)
	}
	switch {
	case int64(data.Len()) > bytesMax:
		return nil, fmt.Errorf("more than %d bytes: %w", bytesMax, ErrTooLarge)
	case data.Len() == 0:
		return nil, ErrEmpty
	}
	d.left -= int64(data.Len())
	return data.Bytes(), nil
}

// reading turns a function into an io.Reader.
type reading func([]byte) (int, error)

// Read implements io.Reader.
func (r reading) Read(p []byte) (int, error) { return r(p) }
