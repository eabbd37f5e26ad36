package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// room is where the page's parts are, and where it goes.
const room = "audit/bundle/judge"

// sizeMax bounds the page: it is a part of every bundle and of the program.
const sizeMax = 8 << 20

func main() {
	version := flag.String("version", "dev", "the release")
	page := flag.String("page", "", "write the page here too, as a file of a release")
	out := flag.String("out", "", "where the packed page goes (default: "+room+"/built/page.html.gz)")
	flag.Parse()
	if err := makePage(*version, *page, *out); err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}

func makePage(version, pagePath, out string) error {
	gomod, err := ask("go", "env", "GOMOD")
	if err != nil {
		return err
	}
	root := filepath.Dir(gomod)
	if out == "" {
		out = filepath.Join(root, room, "built", "page.html.gz")
	}
	program, err := compile(root)
	if err != nil {
		return err
	}
	page, err := assemble(root, version, program)
	if err != nil {
		return err
	}
	if len(page) > sizeMax {
		return fmt.Errorf("the page has %d bytes, more than %d", len(page), sizeMax)
	}
	packed, err := pack(page)
	if err != nil {
		return err
	}
	if pagePath != "" {
		if err := os.WriteFile(pagePath, page, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(os.Stderr, "judge: program %d bytes, page %d, packed %d, sha256 %x\n", len(program), len(page), len(packed), sha256.Sum256(page))
	return os.WriteFile(out, packed, 0o644)
}

func ask(name string, arguments ...string) (string, error) {
	out, err := exec.Command(name, arguments...).Output()
	return strings.TrimSpace(string(out)), err
}

// compile returns cmd/railguard-judge in WebAssembly. Nothing of the machine goes into it.
func compile(root string) (program []byte, err error) {
	dir, err := os.MkdirTemp("", "railguard-judge-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "judge.wasm")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-pgo=off", "-ldflags", "-s -w -buildid=", "-o", path, "./cmd/railguard-judge")
	build.Dir, build.Stderr = root, os.Stderr
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOWASM=", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	if err := build.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// assemble puts the page together. Its security policy names the hashes of its one script and its
// one style.
func assemble(root, version string, program []byte) ([]byte, error) {
	goroot, err := ask("go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	var parts [4][]byte
	for i, path := range []string{
		filepath.Join(goroot, "lib", "wasm", "wasm_exec.js"), filepath.Join(root, room, "web", "page.js"),
		filepath.Join(root, room, "web", "style.css"), filepath.Join(root, room, "web", "page.html"),
	} {
		if parts[i], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	script, style := append(parts[0], parts[1]...), parts[2]
	if bytes.Contains(script, []byte("</script")) || bytes.Contains(script, []byte("<!--")) || bytes.Contains(script, []byte("\r")) {
		return nil, errors.New("the script holds what ends a script or is read otherwise by a browser")
	}
	packed, err := pack(program)
	if err != nil {
		return nil, err
	}
	page := string(parts[3])
	for _, fill := range [][2]string{
		{"SCRIPT-HASH", hash(script)}, {"STYLE-HASH", hash(style)}, {"VERSION", version},
		{"STYLE", string(style)}, {"WASM", base64.StdEncoding.EncodeToString(packed)}, {"SCRIPT", string(script)},
	} {
		name := "{{" + fill[0] + "}}"
		if !strings.Contains(page, name) {
			return nil, fmt.Errorf("page.html has no %s", name)
		}
		page = strings.ReplaceAll(page, name, fill[1])
	}
	return []byte(page), nil
}

// hash returns a script or a style as a security policy names it.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// pack compresses. The header holds no time and no name.
func pack(data []byte) ([]byte, error) {
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(data); err != nil {
		return nil, err
	}
	err = writer.Close()
	return out.Bytes(), err
}
