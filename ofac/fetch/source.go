package fetch

import (
	"context"
	"crypto/x509"
	"net/netip"
	"strings"
	"time"

	"railguard/ofac/feed"
)

// Bounds of a download.
const (
	// FileBytesMax bounds one downloaded file. SDN_ADVANCED.XML, the largest, had
	// 121 MB in 2025.
	FileBytesMax = feed.CompressedBytesMax
	// TotalBytesMax bounds all files of one origin, which are held in memory.
	TotalBytesMax = 2 * FileBytesMax
	// FilesMax bounds the files of one origin.
	FilesMax = 16
	// RedirectsMax bounds the redirects of one request; OFAC's need one.
	RedirectsMax = 5
	// TagBytesMax bounds an ETag or Last-Modified value that is kept.
	TagBytesMax = 256
	// HeaderBytesMax bounds the header of a response.
	HeaderBytesMax = 64 << 10
	// AddressesMax bounds the addresses of one name that are tried.
	AddressesMax = 4
)

// The defaults of the times in a Source.
const (
	// TimeoutDefault bounds the whole of one Fetch.
	TimeoutDefault = 10 * time.Minute
	// StallTimeoutDefault bounds the wait for the header and for each further byte.
	StallTimeoutDefault = 30 * time.Second
	// connectTimeout bounds one connection attempt and one TLS handshake.
	connectTimeout = 10 * time.Second
)

// UserAgentDefault names the service; OFAC answers 403 to a request without a
// User-Agent.
const UserAgentDefault = "railguard-ofac-sync/1"

// Location is one file of an origin.
type Location struct {
	File string // OFAC's published name, which feed recognises.
	URL  string
}

// Origin is a place that holds a whole set of files.
type Origin struct {
	Name  string // Name for messages, such as "sls".
	Files []Location
	// PlainHTTP permits http:// in this origin's own URLs, never in redirects.
	PlainHTTP bool
	// Private permits private and loopback addresses for the hosts of this origin's own
	// URLs, as an operator's mirror may have. It permits them for no other host that a
	// redirect names.
	Private bool
}

// The base URLs that OFAC publishes.
const (
	slsBase      = "https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports/"
	treasuryBase = "https://www.treasury.gov/ofac/downloads/sanctions/1.0/"
)

// SLS is OFAC's Sanctions List Service. The archives hold the same as the XML
// files in a twentieth of the bytes.
func SLS() Origin {
	return Origin{Name: "sls", Files: []Location{
		{"SDN_ENHANCED.ZIP", slsBase + "SDN_ENHANCED.ZIP"},
		{"CONS_ENHANCED.ZIP", slsBase + "CONS_ENHANCED.ZIP"},
	}}
}

// Treasury is the older addresses, used when the Sanctions List Service fails.
func Treasury() Origin {
	return Origin{Name: "treasury.gov", Files: []Location{
		{"SDN_ADVANCED.XML", treasuryBase + "sdn_advanced.xml"},
		{"CONS_ADVANCED.XML", treasuryBase + "cons_advanced.xml"},
	}}
}

// Mirror is an operator's copy of published files below one base URL. Without files it has
// SDN_ENHANCED.XML and CONS_ENHANCED.XML.
func Mirror(base string, files ...string) Origin {
	if len(files) == 0 {
		files = []string{"SDN_ENHANCED.XML", "CONS_ENHANCED.XML"}
	}
	origin := Origin{Name: "mirror"}
	for _, file := range files {
		origin.Files = append(origin.Files, Location{file, strings.TrimSuffix(base, "/") + "/" + file})
	}
	return origin
}

// Tag is what a server sent to identify the version of a file; the next request returns it.
type Tag struct {
	URL          string
	ETag         string
	LastModified string
}

// Source says where to fetch from and how. The zero value fetches from SLS, then
// from Treasury.
type Source struct {
	Origins   []Origin // Origins in the order of preference.
	Known     []Tag    // Tags of the last Result.
	UserAgent string

	Timeout      time.Duration // Bounds the whole call; 0 means TimeoutDefault.
	StallTimeout time.Duration // Bounds the wait for a byte; 0 means StallTimeoutDefault.

	// Allowed are non-public addresses that may be dialled, e.g. 127.0.0.0/8 in tests or
	// the network of a mirror.
	Allowed []netip.Prefix
	// Roots are the certificate authorities to trust; nil means the system's.
	Roots *x509.CertPool
	// Resolve looks a host name up; nil means the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Result is what Fetch got.
type Result struct {
	Origin      string      // Name of the origin that answered.
	NotModified bool        // True when all files are those of Source.Known; Files is then empty.
	Files       []feed.File // Files in the order of the origin.
	Tags        []Tag       // Tags that the next call takes as Source.Known.
	Failures    []error     // Errors of the origins that were tried before.
}
