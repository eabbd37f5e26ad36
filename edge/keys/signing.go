package keys

import (
	"strconv"
	"strings"

	"railguard/edge"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/seal"
	"railguard/strictjson"
)

// kidPrefix returns what begins every kid of the cluster's keys for credentials or for permits:
// cc-v1, cc-v2, ..., pm-v1, pm-v2, ...
func kidPrefix(settings *fsm.Settings, what uint8) string {
	first := map[uint8]string{wire.ForCredentials: seal.FirstKID, wire.ForPermits: seal.FirstPermitKID}
	if edge.IsSandbox(settings) {
		first = map[uint8]string{wire.ForCredentials: seal.SandboxKID, wire.ForPermits: seal.SandboxPermitKID}
	}
	return strings.TrimSuffix(first[what], "1")
}

// NewSigningKey draws and seals the key that follows the present signing key for credentials or for
// permits. Its number is one above the highest in use, because a kid is never given to another key.
func NewSigningKey(j *edge.Judge, what uint8) (wire.SigningKey, error) {
	settings, highest := j.Terms.Settings, 0
	prefix := kidPrefix(settings, what)
	for _, key := range settings.SigningKeys {
		if n, err := strconv.Atoi(strings.TrimPrefix(key.KID, prefix)); err == nil {
			highest = max(highest, n)
		}
	}
	key, err := seal.NewSigningKey(j.Secrets(), prefix+strconv.Itoa(highest+1))
	key.For = what
	return key, err
}

// AddSigningKey builds the record that publishes a key. The key signs a day later, or at once
// if emergency is true (decision 56).
func AddSigningKey(j *edge.Judge, key wire.SigningKey, emergency bool, reason string) (*wire.SigningKeyPut, error) {
	var m strictjson.Members
	m.TextOrNull("reason", reason)
	m.Bool("emergency", emergency)
	common, err := j.Recorded(m)
	return &wire.SigningKeyPut{Common: common, Op: wire.SigningAdd, Key: key, Now: emergency}, err
}

// FindSigningKey finds a key by its kid; nil: there is none.
func FindSigningKey(j *edge.Judge, kid string) *wire.SigningKey {
	for _, key := range j.Terms.Settings.SigningKeys {
		if key.KID == kid {
			return key
		}
	}
	return nil
}

// CheckRevocable refuses to revoke the only key that can sign. done says that the key is
// revoked already.
func CheckRevocable(j *edge.Judge, kid string) (done bool, err error) {
	others := *j.Terms.Settings
	others.SigningKeys = nil
	what := wire.ForCredentials
	for _, key := range j.Terms.Settings.SigningKeys {
		if key.KID != kid {
			others.SigningKeys = append(others.SigningKeys, key)
		} else if key.RevokedAt != 0 {
			return true, nil
		} else {
			what = key.For
		}
	}
	if others.ActiveKeyFor(what, j.LogTime()) == nil {
		return false, edge.Conflict("invalid_transition", "it is the only key that signs: rotate with emergency first", nil)
	}
	return false, nil
}

// RevokeSigningKey builds the record that revokes a key, so that all its tokens give R2. The
// record has no Idempotency-Key: the caller's covers the whole call, and this may be the call's
// second record.
func RevokeSigningKey(j *edge.Judge, kid, reason string) (*wire.SigningKeyPut, error) {
	var m strictjson.Members
	m.Text("reason", reason)
	common, err := j.Recorded(m)
	common.Idem = nil
	return &wire.SigningKeyPut{Common: common, Op: wire.SigningRevoke, Key: wire.SigningKey{KID: kid}}, err
}

// LogKey is a new key for signing the log's checkpoints, sealed.
type LogKey struct {
	seed   []byte
	reason string
}

// ReadLogKey reads the reason for the change and draws the new key.
func ReadLogKey(j *edge.Judge, f *strictjson.Fields) (LogKey, error) {
	reason := readReason(f)
	if err := f.Err(); err != nil {
		return LogKey{}, err
	}
	seed, err := seal.NewLogSeed(j.Secrets())
	return LogKey{seed, reason}, err
}

// Record builds the record.
func (k *LogKey) Record(j *edge.Judge) (*wire.LogKeyPut, error) {
	var m strictjson.Members
	m.Text("reason", k.reason)
	common, err := j.Recorded(m)
	return &wire.LogKeyPut{Common: common, Seed: k.seed}, err
}
