package backup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"railguard/cluster/datadir"
	"railguard/engine"
	"railguard/engine/jws"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// Format is the number of the file's layout. Files of another layout are refused. The drafts
// before 0.2.0 wrote 1 and 2.
const Format = 3

// The names of the parts, in the order of the file. History and lists have one part for each
// piece.
const (
	partManifest = "manifest.json"
	partState    = "state"
	partHistory  = "history/"
	partLists    = "lists/"
	partEnd      = "end.json"
	listSuffix   = ".entities"
)

const (
	manifestMax = 1 << 20
	partBytes   = 4 << 20 // Size of a part of history, which ends with the bundle that exceeds it.
	partMax     = 64 << 20
	listMax     = 96 << 20
	partsMax    = 1 << 20
)

// Manifest is the first part. It says what the other parts must contain.
type Manifest struct {
	Format    int    `json:"format"`
	ClusterID string `json:"clusterId"`
	Node      string `json:"node"` // The node that gave the backup.
	Index     uint64 `json:"index"`
	Term      uint64 `json:"term"`
	LogTime   string `json:"logTime"`
	LogNanos  int64  `json:"logNanos"` // LogTime in nanoseconds.
	Digest    string `json:"digest"`   // Digest of the state.
	TreeSize  uint64 `json:"treeSize"`
	TreeHead  string `json:"treeHead"`
	Oldest    uint64 `json:"oldestLeaf"` // Only hashes are kept of the leaves before this one.
	JWKS      string `json:"jwksSha256"`
	Recovery  uint64 `json:"recovery"` // How often the group was recovered or restored before.
	Lineage   string `json:"lineage,omitempty"`
	Epoch     uint16 `json:"epoch"`

	Members []datadir.Member `json:"members,omitempty"` // Members of the group. A restored node asks them before its first start.

	List string `json:"list,omitempty"` // Digest of the active list; it is in the state.

	// From is the first leaf of history in this file: 0 in a full backup. The leaves before
	// it are in earlier backups, which a restore needs too.
	From     uint64   `json:"historyFrom"`
	Frontier []string `json:"historyFrontier,omitempty"` // Compact range of the tree of size From.

	Rotten []string `json:"rottenLists,omitempty"` // Digests of lists that could not be read on that node's disk, and so are not in this file.

	Counts Counts `json:"counts"`
}

// Counts are numbers that people compare.
type Counts struct {
	Agents      int `json:"agents"`
	Users       int `json:"users"`
	Fleets      int `json:"fleets"`
	Operators   int `json:"operators"`
	OpenReviews int `json:"openReviews"`
	APIKeys     int `json:"apiKeys"`
	SigningKeys int `json:"signingKeys"`
}

// end is the last part: a file without it is incomplete.
type end struct {
	Parts  int               `json:"parts"`
	Sha256 map[string]string `json:"sha256"` // SHA-256 of each part before this one.
}

// describeView returns the manifest of a state, without the fields that only a node can fill.
func describeView(view *fsm.View) (*Manifest, error) {
	settings := view.Settings()
	if settings.Genesis == nil {
		return nil, fmt.Errorf("backup: this node has no state of a cluster yet")
	}
	jwks, err := keySetDigest(settings)
	if err != nil {
		return nil, err
	}
	digest := view.Digest()
	m := &Manifest{
		Format: Format, ClusterID: settings.Genesis.ClusterID, Index: view.Index, Term: view.Term,
		LogTime: view.Time.String(), LogNanos: int64(view.Time), Digest: hex.EncodeToString(digest[:]),
		TreeSize: view.Size, TreeHead: hex.EncodeToString(view.Root[:]), Oldest: view.Oldest, JWKS: jwks, Lineage: settings.Lineage,
		Counts: Counts{
			Agents: view.Agents(), Users: view.Users(), Fleets: view.Fleets(), Operators: view.Operators(), OpenReviews: view.OpenReviews(),
			APIKeys: len(settings.Keys), SigningKeys: len(settings.SigningKeys),
		},
	}
	if n := len(settings.Epochs); n > 0 {
		m.Epoch = settings.Epochs[n-1].Number
	}
	if settings.List != nil {
		m.List = hex.EncodeToString(settings.List.Digest[:])
	}
	return m, nil
}

// keySetDigest is SHA-256 of the JWKS that a node with these settings publishes.
func keySetDigest(settings *fsm.Settings) (string, error) {
	var public [2][]jws.PublicKey // By what they sign.
	for _, key := range settings.SigningKeys {
		state := jws.KeyActive
		if key.RevokedAt != 0 {
			state = jws.KeyRevoked
		}
		public[key.For] = append(public[key.For], jws.PublicKey{ID: key.KID, Point: key.Public, State: state})
	}
	credentials, err := jws.NewKeySet(public[wire.ForCredentials])
	permits, errPermits := jws.NewKeySet(public[wire.ForPermits])
	if err := errors.Join(err, errPermits); err != nil {
		return "", fmt.Errorf("backup: key set: %w", err)
	}
	return Digest(jws.AppendJWKS(nil, credentials, permits)), nil
}

// Digest returns SHA-256 of data in hexadecimal digits, as the manifest has it.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// findDifference returns an error that names the first thing in which a state differs from the
// manifest, or nil if nothing does.
func (m *Manifest) findDifference(view *fsm.View) error {
	is, err := describeView(view)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		what          string
		said, turnsUp any
	}{
		{"cluster", m.ClusterID, is.ClusterID}, {"log index", m.Index, is.Index}, {"log term", m.Term, is.Term}, {"log time", engine.Time(m.LogNanos), engine.Time(is.LogNanos)},
		{"state digest", m.Digest, is.Digest}, {"number of leaves", m.TreeSize, is.TreeSize}, {"tree head", m.TreeHead, is.TreeHead},
		{"oldest leaf", m.Oldest, is.Oldest}, {"key set", m.JWKS, is.JWKS}, {"lineage", m.Lineage, is.Lineage}, {"epoch", m.Epoch, is.Epoch}, {"list", m.List, is.List}, {"counts", m.Counts, is.Counts},
	} {
		if one.said != one.turnsUp {
			return fmt.Errorf("%s is %v, and the manifest says %v", one.what, one.turnsUp, one.said)
		}
	}
	return nil
}
