package backup

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"railguard/audit"
	"railguard/cluster/datadir"
	"railguard/cluster/recovery"
	"railguard/engine"
	"railguard/fsm"
	"railguard/fsm/wire"
)

// A backup is older than the last revocation, and what comes back with it must not be what was
// revoked meanwhile. So a restore is given what ended since: the events that `railguard
// revocations` keeps on another machine, or a data folder of the lost group, whose history has
// the same. It applies them as the first records of the new lineage (decision 118). Whoever can
// write such a file can only end things, never bring anything back.

// RevocationTypes are the types of events that a restore replays. The events of reinstatement
// are among them because they undo a suspension.
var RevocationTypes = []string{
	"agent.revoked", "agent.suspended", "agent.reinstated", "agent.reissued",
	"user.revoked", "user.suspended", "user.reinstated", "user.reissued",
	"operator.suspended", "operator.reinstated",
	"key.revoked", "key.reinstated", "key.rotated", "key.sessions_ended", "signing_key.revoked",
}

// revocation is one event, of whose members at most one names whom it is about.
type revocation struct {
	leaf uint64
	kind string

	AgentID    string `json:"agentId"`
	UserID     string `json:"userId"`
	OperatorID string `json:"operatorId"`
	KeyID      string `json:"keyId"`
	KID        string `json:"kid"`
}

// subject returns whom an event is about: the part of its kind before the point, and the id.
func (v *revocation) subject() string {
	group, _, _ := strings.Cut(v.kind, ".")
	switch group {
	case "agent":
		return group + " " + v.AgentID
	case "user":
		return group + " " + v.UserID
	case "operator":
		return group + " " + v.OperatorID
	case "key":
		return group + " " + v.KeyID
	}
	return group + " " + v.KID
}

// Revoked says what a restore did with the revocations it was given.
type Revoked struct {
	Events  int      `json:"events"`            // Events behind the backup that were given.
	Applied []string `json:"applied"`           // What was ended again: kind and id.
	Unknown int      `json:"unknown"`           // Events about somebody who is not in the backup.
	Known   string   `json:"knownTo"`           // The last event that was given, "": none.
	Refused []string `json:"refused,omitempty"` // What the state does not take; a person must do it.
}

// gatherRevocations returns the events behind a leaf, in order: those that were given, and those of
// the folder's former content. If that is damaged, which may be why somebody restores, damaged says
// so.
func (r *restoring) gatherRevocations(after uint64) (events []revocation, damaged []string) {
	events = slices.Clone(r.given)
	if r.aside != "" {
		former, err := readRevocations([]string{r.aside})
		if err != nil {
			damaged = append(damaged, "what the former content of the folder says: "+err.Error())
		}
		events = append(events, former...)
	}
	events = slices.DeleteFunc(events, func(v revocation) bool { return v.leaf < after })
	slices.SortStableFunc(events, func(a, b revocation) int { return cmp.Compare(a.leaf, b.leaf) })
	return slices.CompactFunc(events, func(a, b revocation) bool { return a.leaf == b.leaf && a.kind == b.kind }), damaged
}

// readRevocations reads the events in files and data folders.
func readRevocations(paths []string) (all []revocation, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("backup: revocations: %w", err)
		}
		read := readEvents
		if info.IsDir() {
			read = readFolder
		}
		some, err := read(path)
		if err != nil {
			return nil, fmt.Errorf("backup: revocations of %s: %w", path, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// readEvents reads a file of events, one a line, as `railguard revocations` and GET /v1/events
// write them. Other lines are allowed. The last line may be torn by a crash.
func readEvents(path string) (all []revocation, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	in := bufio.NewReader(file)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		whole := err == nil
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var event struct {
				ID   string     `json:"id"`
				Type string     `json:"type"`
				Data revocation `json:"data"`
			}
			if bad := json.Unmarshal(line, &event); bad != nil && whole {
				return nil, fmt.Errorf("line %d: %w", number, bad)
			} else if bad == nil && slices.Contains(RevocationTypes, event.Type) {
				leaf, _, _ := strings.Cut(strings.TrimPrefix(event.ID, "evt_"), "_")
				index, bad := strconv.ParseUint(leaf, 10, 62)
				if bad != nil {
					return nil, fmt.Errorf("line %d: %q is no event's id", number, event.ID)
				}
				event.Data.leaf, event.Data.kind = index, event.Type
				all = append(all, event.Data)
			}
		}
		if !whole {
			return all, nil
		}
	}
}

// readFolder reads the events from the history in a data folder, and from its log what history does
// not have: a node that lost its power has the last leaves in its log alone.
func readFolder(path string) (all []revocation, err error) {
	history, err := audit.OpenReadOnly(audit.OSDir(filepath.Join(path, datadir.AuditFolder)), audit.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, history.Close()) }()
	take := func(index uint64, data []byte) error {
		one, is, err := readRevocation(index, data)
		if is {
			all = append(all, one)
		}
		return err
	}
	for index := history.Oldest(); index < history.Size(); index++ {
		leaf, err := history.Record(index)
		if err != nil {
			return nil, fmt.Errorf("leaf %d: %w", index, err)
		}
		if err := take(index, leaf.Data); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(filepath.Join(path, datadir.RaftFolder, datadir.LogFile)); err != nil {
		return all, nil //nolint:nilerr // A folder without a log is a copy of its history.
	}
	err = recovery.LoggedLeaves(path, history.Size(), func(leaf recovery.LoggedLeaf) error {
		if !leaf.Certain && !endsSomebody(leaf.Data) { // What nobody may have acknowledged ends, and undoes no ending.
			return nil
		}
		return take(leaf.Index, leaf.Data)
	})
	if err != nil {
		return nil, fmt.Errorf("%w (to take what its history alone says, name a copy without %s)", err, datadir.RaftFolder)
	}
	return all, nil
}

// endsSomebody reports whether a leaf is an event that brings nobody back.
func endsSomebody(leaf []byte) bool {
	kind := kindOf(leaf)
	return !strings.HasSuffix(kind, ".reinstated") && !strings.HasSuffix(kind, ".reissued")
}

// kindOf returns the kind of a leaf that is an event; "": it is none.
func kindOf(leaf []byte) string {
	var head struct {
		Kind string `json:"kind"`
	}
	if !bytes.HasPrefix(leaf, []byte("{")) || json.Unmarshal(leaf, &head) != nil {
		return ""
	}
	return head.Kind
}

// readRevocation reads a leaf, if it is one of the events that a restore replays.
func readRevocation(index uint64, leaf []byte) (one revocation, is bool, err error) {
	kind := kindOf(leaf)
	if !slices.Contains(RevocationTypes, kind) {
		return one, false, nil
	}
	one = revocation{leaf: index, kind: kind}
	if err := json.Unmarshal(leaf, &one); err != nil {
		return one, false, fmt.Errorf("leaf %d: %w", index, err)
	}
	return one, true, nil
}

// replayRevocations ends again what the events say. The last event about somebody counts, but
// re-issues and ended sessions are done besides; a signing key is ended last, because credentials
// are renewed with it.
func (r *restoring) replayRevocations(events []revocation, apply func(kind wire.Kind, body any) (*wire.Result, error)) (*Revoked, error) {
	done := &Revoked{Events: len(events), Applied: []string{}}
	last := map[string]string{} // The state that somebody ended in.
	var order []revocation
	for _, event := range events {
		done.Known = "evt_" + strconv.FormatUint(event.leaf, 10)
		subject := event.subject()
		switch event.kind {
		case "agent.reissued", "user.reissued": // It also makes the party active.
			order = append(order, event)
			delete(last, subject)
		case "key.sessions_ended":
			order = append(order, event)
		default:
			last[subject] = event.kind
		}
	}
	for _, group := range []string{"agent", "user", "operator", "key", "signing_key"} {
		for _, event := range events {
			subject := event.subject()
			if strings.HasPrefix(subject, group+" ") && last[subject] == event.kind {
				order = append(order, event)
				delete(last, subject)
			}
		}
	}
	view := r.machine.Freeze()
	ids := fsm.NewIDs(view.Settings().Genesis.IDKey, view.Settings().Epochs...)
	for i := range order {
		event := &order[i]
		kind, body := event.record(r.machine.Freeze(), ids)
		if body == nil {
			done.Unknown += boolCount(kind == unknownSubject)
			continue
		}
		result, err := apply(kind, body)
		if err != nil {
			return nil, err
		}
		what := event.kind + " " + strings.SplitN(event.subject(), " ", 2)[1]
		switch {
		case result.Code == wire.Applied || result.Code == wire.Unchanged || result.Code == wire.Replayed:
			done.Applied = append(done.Applied, what)
		case result.Refusal == wire.RefusedNotFound:
			done.Unknown++
		case result.State != engine.Revoked: // Who is revoked needs nothing more.
			done.Refused = append(done.Refused, fmt.Sprintf("%s (%d, %d)", what, result.Code, result.Refusal))
		}
	}
	return done, nil
}

// unknownSubject is what record returns for somebody who is not in the backup.
const unknownSubject = wire.Kind(0)

// record returns the record that does again what an event says, or no body.
func (v *revocation) record(view *fsm.View, ids *fsm.IDs) (wire.Kind, any) {
	common := wire.Common{Fragment: []byte(`"reason":"ended after the backup, see event evt_` + strconv.FormatUint(v.leaf, 10) + ` of the lineage before","actor":"restore"`)}
	status := wire.Status{Common: common, To: engine.Suspended}
	if strings.HasSuffix(v.kind, ".revoked") {
		status.To = engine.Revoked
	}
	var known bool
	switch v.kind {
	case "agent.reinstated", "user.reinstated", "operator.reinstated":
		return wire.KindStatus, nil
	case "key.reinstated": // The state may have the person ended still; somebody reinstates again.
		return wire.KindAPIKey, nil
	case "agent.reissued":
		return v.reissue(view, ids, common)
	case "user.reissued":
		slot, known := ids.ParseUser(v.UserID)
		_, profile, held := view.User(engine.UserSlot(slot))
		if !known || !held {
			return unknownSubject, nil
		}
		return wire.KindUserReissue, &wire.UserReissue{Common: common, User: engine.UserSlot(slot), BaseRev: profile.Rev, NameMatched: profile.NameMatched}
	case "key.revoked", "key.rotated": // The secret of a later rotation is lost with the lineage, and the one before was given up.
		return wire.KindAPIKey, &wire.APIKeyPut{Common: common, Op: wire.KeyRevoke, Key: wire.APIKey{ID: v.KeyID}}
	case "key.sessions_ended":
		return wire.KindAPIKey, &wire.APIKeyPut{Common: common, Op: wire.KeySignOut, Key: wire.APIKey{ID: v.KeyID}}
	case "signing_key.revoked":
		return wire.KindSigningKey, &wire.SigningKeyPut{Common: common, Op: wire.SigningRevoke, Key: wire.SigningKey{KID: v.KID}}
	case "agent.revoked", "agent.suspended":
		status.Target = wire.TargetAgent
		status.Slot, known = ids.ParseAgent(v.AgentID)
	case "user.revoked", "user.suspended":
		status.Target = wire.TargetUser
		status.Slot, known = ids.ParseUser(v.UserID)
	case "operator.suspended":
		status.Target = wire.TargetOperator
		status.Slot, known = ids.ParseOperator(v.OperatorID)
	}
	if !known {
		return unknownSubject, nil
	}
	return wire.KindStatus, &status
}

// reissue gives an agent a version that nobody holds: its versions in the backup end, and its owner
// takes a new one.
func (v *revocation) reissue(view *fsm.View, ids *fsm.IDs, common wire.Common) (wire.Kind, any) {
	slot, known := ids.ParseAgent(v.AgentID)
	_, profile, held := view.Agent(engine.AgentSlot(slot))
	if !known || !held {
		return unknownSubject, nil
	}
	settings := view.Settings()
	names, err := json.Marshal(struct {
		Operator string `json:"operatorLegalName"`
		Name     string `json:"agentName"`
		Type     string `json:"agentType"`
	}{profile.OperatorLegalName, profile.AgentName, profile.Type.String()})
	if err != nil {
		return unknownSubject, nil
	}
	common.Fragment = append(append(common.Fragment, ','), names[1:len(names)-1]...)
	return wire.KindReissue, &wire.Reissue{
		Common: common, Agent: engine.AgentSlot(slot), Profile: *profile, BaseRev: profile.Rev,
		Operator: wire.OperatorRef{Slot: profile.Operator}, List: settings.ListVersion, Plain: true,
	}
}

func boolCount(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
