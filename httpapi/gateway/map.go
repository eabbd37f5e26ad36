package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Map says what a request behind the gateway pays. It is immutable.
type Map struct {
	Digest   string // SHA-256 of the file, in hex: it must be the same on every node.
	profiles map[string]*profile
	routes   int
}

const (
	mapMax      = 1 << 20 // Bytes.
	profilesMax = 64
	routesMax   = 256 // Of one profile: each is compared with each.
	nameMax     = 64
)

// mapFile is a map as it is written.
type mapFile struct {
	Version  int                 `yaml:"version"`
	Profiles map[string]*profile `yaml:"profiles"`
}

// profile is one gateway, or one part of it: /ext-authz/{profile}/...
type profile struct {
	Mode      string   `yaml:"mode"`
	Redeem    *bool    `yaml:"redeem"`    // Mode permit; nil: true.
	Audience  string   `yaml:"audience"`  // Mode permit: whom a permit must name.
	Otherwise string   `yaml:"otherwise"` // What becomes of a request that no route names; "": deny.
	Routes    []*route `yaml:"routes"`
}

// The modes of a profile, and what becomes of a request that no route names.
const (
	modePermit = "permit"
	modeScreen = "screen"

	denied  = "deny"
	allowed = "allow"
)

// redeems tells whether a permit is used up before the request goes on.
func (p *profile) redeems() bool { return p.Redeem == nil || *p.Redeem }

// route is one kind of request.
type route struct {
	Match struct {
		Method string `yaml:"method"`
		Path   string `yaml:"path"`
	} `yaml:"match"`
	Allow     bool               `yaml:"allow"` // It pays nothing: let it through unasked.
	Constants map[string]string  `yaml:"constants"`
	Permit    *permitAsked       `yaml:"permit"`
	Values    map[string]*source `yaml:",inline"` // By the names of members.

	segments []string // Of the path.
}

// permitAsked is the permit that mode screen asks for.
type permitAsked struct {
	TTLSeconds int    `yaml:"ttlSeconds" json:"ttlSeconds,omitempty"`
	Audience   string `yaml:"aud" json:"aud,omitempty"`
}

// source is where a value stands in a request: in its body or in a header.
type source struct {
	Pointer string `yaml:"pointer"` // RFC 6901.
	Header  string `yaml:"header"`
	Scale   *int   `yaml:"scale"` // Of an amount: it is a whole number of 10^-scale. nil: a decimal number.

	steps []string // Of the pointer.
}

// ReadMap reads a map. The error names everything that is wrong with it, a line each.
func ReadMap(file io.Reader) (*Map, error) {
	data, err := io.ReadAll(io.LimitReader(file, mapMax+1))
	if err != nil {
		return nil, err
	}
	if len(data) > mapMax {
		return nil, fmt.Errorf("larger than %d bytes", mapMax)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true) // A misspelt member would be a check that nobody makes.
	var written mapFile
	if err := decoder.Decode(&written); err != nil {
		return nil, errors.New(strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n ", ""), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("one document is expected")
	}
	if err := written.check(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	m := &Map{Digest: hex.EncodeToString(sum[:]), profiles: written.Profiles}
	for _, p := range m.profiles {
		m.routes += len(p.Routes)
	}
	return m, nil
}

// Size returns how many profiles and routes the map has.
func (m *Map) Size() (profiles, routes int) { return len(m.profiles), m.routes }
