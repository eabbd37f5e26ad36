package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// bom is the part of CycloneDX 1.5 that is filled here.
type bom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Licences   []licence  `json:"licenses,omitempty"`
	Hashes     []digest   `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type digest struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// licence is an SPDX expression.
type licence struct {
	Expression string `json:"expression"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

func main() {
	version := flag.String("version", "", "version of the release")
	notice := flag.String("notice", "NOTICE", "file with a line MODULE VERSION, a tab and the licence for each module")
	flag.Parse()
	if flag.NArg() != 1 || *version == "" {
		fmt.Fprintln(os.Stderr, "usage: sbom -version X.Y.Z BINARY")
		os.Exit(2)
	}
	if err := write(os.Stdout, flag.Arg(0), *version, *notice); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write writes the bill of a binary. It returns an error if the file is not a Go binary.
func write(w io.Writer, binary, version, notice string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("build information of %s: %w", binary, err)
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("binary: %w", err)
	}
	licences, err := readLicences(notice)
	if err != nil {
		return fmt.Errorf("licences: %w", err)
	}
	sum := sha256.Sum256(data)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(billOf(info, filepath.Base(binary), version, sum, licences))
}

// readLicences returns the licence of each module, by path and version, from NOTICE.
func readLicences(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	licences := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if module, expression, is := strings.Cut(line, "\t"); is && module != "" {
			licences[module] = expression
		}
		if strings.HasPrefix(line, "====") {
			break // The texts.
		}
	}
	return licences, nil
}

// licenceOf is empty for a module that NOTICE does not name.
func licenceOf(licences map[string]string, module string) []licence {
	if expression, known := licences[module]; known {
		return []licence{{expression}}
	}
	return nil
}

// billOf depends on the binary alone. The serial number is the first 16 bytes of the binary's
// SHA-256, marked as a UUID of version 8.
func billOf(info *debug.BuildInfo, name, version string, sum [sha256.Size]byte, licences map[string]string) bom {
	id := [16]byte(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	product := component{
		Type: "application", Ref: info.Main.Path, Name: name, Version: version,
		Licences: []licence{{"Apache-2.0"}},
		Hashes:   []digest{{"SHA-256", hex.EncodeToString(sum[:])}},
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "GOOS", "GOARCH", "GOAMD64", "GOARM64", "CGO_ENABLED", "-ldflags", "-trimpath":
			product.Properties = append(product.Properties, property{"go:" + setting.Key, setting.Value})
		}
	}
	std := component{
		Type: "library", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
		Ref: "std", PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
		Licences: licenceOf(licences, "std"),
	}
	bill := bom{
		Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Serial:     fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]),
		Metadata:   metadata{Component: product},
		Components: []component{std},
	}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		purl := "pkg:golang/" + module.Path + "@" + module.Version
		bill.Components = append(bill.Components, component{
			Type: "library", Ref: purl, Name: module.Path, Version: module.Version, PURL: purl,
			Licences:   licenceOf(licences, module.Path+" "+module.Version),
			Properties: []property{{"go:sum", module.Sum}},
		})
	}
	edges := dependency{Ref: product.Ref}
	for i := range bill.Components {
		edges.DependsOn = append(edges.DependsOn, bill.Components[i].Ref)
	}
	bill.Dependencies = []dependency{edges}
	return bill
}
