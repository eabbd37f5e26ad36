package bundle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// derived are the files that follow from a folder's records, by name.
func (c *contents) derived() (map[string][]byte, error) {
	files := map[string][]byte{wordsName: []byte(words), checkpointName: []byte(c.signed)}
	for number, text := range c.policies {
		files[fmt.Sprintf("%s/%d.json", policyFolder, number)] = text
	}
	var err error
	if files[tableName], err = c.table(); err != nil {
		return nil, err
	}
	files[pageName], err = c.page()
	return files, err
}

func (c *contents) policyVersions() []uint64 {
	var versions []uint64
	for number := range c.policies {
		versions = append(versions, number)
	}
	slices.Sort(versions)
	return versions
}

// table is bundle.json: what the folder is, for programs.
func (c *contents) table() ([]byte, error) {
	r := &c.report
	text, err := json.MarshalIndent(struct {
		Bundle    int            `json:"bundle"`
		Cluster   string         `json:"clusterId"`
		Origin    string         `json:"origin"`
		From      string         `json:"from"`
		To        string         `json:"to"`
		Agent     string         `json:"agent,omitempty"`
		Operator  string         `json:"operator,omitempty"`
		First     uint64         `json:"first"`
		End       uint64         `json:"end"`
		TreeSize  uint64         `json:"treeSize"`
		Records   int            `json:"records"`
		Decisions int            `json:"decisions"`
		Verdicts  map[string]int `json:"verdicts"`
		Rules     map[string]int `json:"rules"`
		Lists     map[string]int `json:"lists"` // Decisions by the digest of the list.
		Policies  []uint64       `json:"policies"`
	}{
		version, r.Cluster, r.Checkpoint.Origin, r.From, r.To, r.Agent, r.Operator, r.First, r.End, r.Checkpoint.Size,
		r.Leaves, r.Screens, c.verdicts, c.rules, c.lists, c.policyVersions(),
	}, "", "  ")
	return append(text, '\n'), err
}

// words is README.txt.
var words = strings.TrimLeft(`
RAILGUARD EXAMINER'S BUNDLE, version 1

This folder holds what was decided about payments in a span of time, and what
is needed to check it without the institution, its servers or its word.

  index.html        the decisions, to be read in any browser and printed; no script
  records.ndjson    the same as the log holds them, each with its proof (the source of all else)
  checkpoint.txt    the signed head of the log that the proofs lead to
  keys.txt          the keys that verify its signatures: COMPARE THEM, see below
  lists/            the sanctions lists the decisions were made with, each named by its SHA-256
  policies/         the policies in force: the settings that decisions were made with
  cosigned.txt      a later head of the log that independent witnesses signed (where there is one)
  consistency.json  the proof that it continues checkpoint.txt (where it is larger)
  witnesses.txt     the witnesses' keys (where they were given)
  bundle.json       what this folder holds, for programs
  SHA256SUMS        checksums of all files

UNITS

Everything is in US dollars; one USDC counts as one US dollar, and nothing is converted.
In index.html and in the records an amount is a number of dollars: 1250.5 is $1,250.50.
In policies/ amounts are whole numbers of millionths of a dollar (micro-dollars):
10000000000 is $10,000, and -1 is no limit. Durations there are in nanoseconds
(86400000000000 is 24 hours), scores of names in ten thousandths (8750 is 0.875; 0 is the
matcher's own threshold). A "document" there is the policy as it was written and put in
force: JSON in base64, its amounts in dollars. All times are UTC.

WITH THE PROGRAM

  railguard verify THIS-FOLDER --keys keys-that-you-got-another-way.txt

It needs no network. It verifies every file, names the one that was changed,
removed or added, and makes each decision again with the list and the policy in
the folder. It tells what is proven, what is not, and what could not be decided
again and why. Without --keys it takes keys.txt, and shows only that the folder
agrees with itself: then compare the fingerprint it prints by telephone.

WITHOUT IT

  1. sha256sum -c SHA256SUMS      shows that the folder is as it was written.
  2. sha256sum lists/*            each list is named by its own checksum; records name
                                  the list they were judged with (listDigest).
  3. checkpoint.txt is a C2SP signed note (c2sp.org/tlog-checkpoint): its first
     signature line is Ed25519 over the text above the empty line, the second an
     ML-DSA-44 cosignature (c2sp.org/tlog-cosignature). Any tool for such logs reads it.
  4. In records.ndjson each line of type "leaf" has the bytes of a record ("leaf":
     text, or base64), its place ("index") and its "path". RFC 6962: the leaf's hash is
     SHA-256 of a zero byte and those bytes; with the path it leads to the root in
     checkpoint.txt.
  5. The last line is signed by the same keys: it says which time and selection this is
     and how many records it has. Numbers of records have no gap, unless a selection says so.

What decisions were made again from: the record's own evidence (counters, limits,
status), the profile of agent and user beside it, the list and the policy here. The
caller's credential is not kept anywhere, so a call that was refused for its credential
cannot be decided again; whitelists are not kept in records, so rule R13 is taken from the
record where one was in force. The program counts both.
`, "\n")
