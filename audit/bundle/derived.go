package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// deriveFiles returns the files that are derived from a folder's records, by name, in one
// version of the form, but for a page that is a program.
func (c *contents) deriveFiles(version int) (map[string][]byte, error) {
	words, plain, err := readForm(version)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{wordsName: words, checkpointName: []byte(c.signed)}
	c.deriveReading(files)
	for number, text := range c.policies {
		files[fmt.Sprintf("%s/%d.json", policyFolder, number)] = text
	}
	if files[tableName], err = c.renderTable(version); err != nil {
		return nil, err
	}
	if c.judge == nil {
		files[pageName] = plain
	}
	return files, err
}

// owns reports whether a file of that name can belong to the bundle.
func (c *contents) owns(name string, derived map[string][]byte) bool {
	if digest, is := strings.CutPrefix(name, ListFolder+"/"); is {
		return c.lists[strings.TrimSuffix(digest, ListSuffix)] > 0 && strings.HasSuffix(digest, ListSuffix)
	}
	return derived[name] != nil || name == RecordsName || name == KeysName || name == sumsName || name == pageName && c.judge != nil || slices.Contains(optional, name)
}

func (c *contents) policyVersions() []uint64 {
	var versions []uint64
	for number := range c.policies {
		versions = append(versions, number)
	}
	slices.Sort(versions)
	return versions
}

// renderTable returns bundle.json, which describes the folder to programs.
func (c *contents) renderTable(version int) ([]byte, error) {
	r := &c.report
	var witnessed *bool
	if r.Unwitnessed {
		witnessed = new(bool)
	}
	text, err := json.MarshalIndent(struct {
		Bundle    int            `json:"bundle"`
		MadeBy    Program        `json:"madeBy"`
		Judge     *Judge         `json:"judge,omitempty"`
		Cluster   string         `json:"clusterId"`
		Origin    string         `json:"origin"`
		From      string         `json:"from"`
		To        string         `json:"to"`
		Agent     string         `json:"agent,omitempty"`
		Operator  string         `json:"operator,omitempty"`
		First     uint64         `json:"first"`
		End       uint64         `json:"end"`
		TreeSize  uint64         `json:"treeSize"`
		Witnessed *bool          `json:"witnessed,omitempty"` // false as in the export; else absent.
		Records   int            `json:"records"`
		Decisions int            `json:"decisions"`
		Verdicts  map[string]int `json:"verdicts"`
		Rules     map[string]int `json:"rules"`
		Paid      int            `json:"confirmations,omitempty"` // Payments that were confirmed or redeemed.
		Lists     map[string]int `json:"lists"`                   // Number of decisions and confirmations by the digest of their list.
		Policies  []uint64       `json:"policies"`
	}{
		version, c.madeBy, c.judge, r.Cluster, r.Checkpoint.Origin, r.From, r.To, r.Agent, r.Operator, r.First, r.End, r.Checkpoint.Size, witnessed,
		r.Leaves, r.Screens, c.verdicts, c.rules, c.paid, c.lists, c.policyVersions(),
	}, "", "  ")
	return append(text, '\n'), err
}
