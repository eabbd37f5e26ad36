package note

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sumdb "golang.org/x/mod/sumdb/note"
)

const (
	// PolicySizeMax bounds a policy, in bytes.
	PolicySizeMax = 1 << 20
	// policyEntriesMax bounds the logs, the witnesses and the groups of a policy, each.
	policyEntriesMax = 32
	// quorumNone is the quorum of a policy that demands no witness.
	quorumNone = "none"
)

// Policy says which witnesses must have cosigned a checkpoint before its reader believes it: a
// C2SP tlog-policy. It is the reader's own; a file never brings the policy that it is held to.
type Policy struct {
	logs     []*verifier
	logTexts []string
	entries  []policyEntry // Witnesses and groups, each behind all of its members.
	quorum   int           // The entry that must have witnessed; -1: none is demanded.
	text     string        // The lines that mean something, without spaces around them.
}

// policyEntry is a witness or a group of entries.
type policyEntry struct {
	name    string
	witness *cosigner // Nil for a group.
	url     string    // Where the witness is asked; may be "".
	need    int       // How many members must have witnessed.
	members []int
	group   int // The group that it is a member of; -1: none.
}

// PolicyWitness is a witness of a policy.
type PolicyWitness struct {
	Name string // The name of its key, not the one that it has in the policy.
	URL  string // May be "".
	Key  string // Its verifier key.
}

// QuorumError says that too few witnesses signed a checkpoint. Witnesses are told by the names of
// their keys.
type QuorumError struct {
	Have    []string
	Need    string
	Missing []string
}

func (e *QuorumError) Error() string {
	have := "none"
	if len(e.Have) > 0 {
		have = strings.Join(e.Have, ", ")
	}
	return fmt.Sprintf("the quorum of witnesses is not met: signed by %s; wanted are %s; no signature by %s", have, e.Need, strings.Join(e.Missing, ", "))
}

func (e *QuorumError) Unwrap() error { return errWitness }

// ParsePolicy reads a policy as C2SP tlog-policy writes it. Besides, it refuses a log's own key as
// a witness, and two keys of one witness that would count as two.
func ParsePolicy(text string) (*Policy, error) {
	if len(text) > PolicySizeMax || !strings.HasSuffix(text, "\n") {
		return nil, fmt.Errorf("policy of more than %d bytes, or without a line end: %w", PolicySizeMax, ErrMalformed)
	}
	p := &policyReader{policy: Policy{quorum: -1}}
	number := 0
	for line := range strings.Lines(text) {
		number++
		if err := p.readLine(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("policy, line %d: %w: %w", number, err, ErrMalformed)
		}
	}
	if err := p.checkWhole(); err != nil {
		return nil, fmt.Errorf("policy: %w: %w", err, ErrMalformed)
	}
	return &p.policy, nil
}

// policyReader reads a policy line by line.
type policyReader struct {
	policy    Policy
	hasQuorum bool
	lines     strings.Builder
}

// isControl reports whether a byte must not stand in a line of a policy.
func isControl(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }

// policyWords splits a line at spaces and tabs, and at nothing else.
func policyWords(line string) []string {
	return strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
}

// isPolicyLine reports whether a line of a document of verifier keys belongs to a policy. A key has
// no space in it.
func isPolicyLine(line string) bool {
	words := policyWords(line)
	return len(words) > 1 && slices.Contains([]string{"log", "witness", "group", "quorum"}, words[0])
}

func (p *policyReader) readLine(line string) error {
	for i := range len(line) {
		if isControl(line[i]) {
			return errors.New("a control character")
		}
	}
	words := policyWords(line)
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	if p.hasQuorum && words[0] == "quorum" {
		return errors.New("a second quorum")
	}
	p.lines.WriteString(strings.Join(words, " ") + "\n")
	switch words[0] {
	case "log":
		return p.readLog(words[1:])
	case "witness":
		return p.readWitness(words[1:])
	case "group":
		return p.readGroup(words[1:])
	case "quorum":
		return p.readQuorum(words[1:])
	}
	return errors.New("an unknown keyword")
}

func (p *policyReader) readLog(words []string) error {
	if len(words) != 1 && len(words) != 2 {
		return errors.New("want the log's verifier key, and its URL or nothing")
	}
	v, err := parseKey(words[0])
	switch {
	case err != nil:
		return err
	case v.timed:
		return errors.New("the log's key is a witness's")
	case slices.ContainsFunc(p.policy.logs, v.isSameKey):
		return errors.New("the log stands twice")
	case len(p.policy.logs) == policyEntriesMax:
		return fmt.Errorf("more than %d logs", policyEntriesMax)
	}
	p.policy.logs, p.policy.logTexts = append(p.policy.logs, v), append(p.policy.logTexts, words[0])
	return nil
}

func (p *policyReader) readWitness(words []string) error {
	if len(words) != 2 && len(words) != 3 {
		return errors.New("want the witness's name, its verifier key, and its URL or nothing")
	}
	v, err := parseKey(words[1])
	if err != nil {
		return err
	}
	if !v.timed && v.quantum == nil {
		return errors.New("the key is a log's, not a witness's")
	}
	witnesses := 0
	for _, e := range p.policy.entries {
		if e.witness != nil {
			witnesses++
			if v.isSameKey(e.witness.verifier) {
				return fmt.Errorf("its key is that of %q", e.name)
			}
		}
	}
	if witnesses == policyEntriesMax {
		return fmt.Errorf("more than %d witnesses", policyEntriesMax)
	}
	e := policyEntry{name: words[0], witness: &cosigner{v, words[1]}, group: -1}
	if len(words) == 3 {
		e.url = words[2]
	}
	return p.define(e)
}

func (p *policyReader) readGroup(words []string) error {
	if len(words) < 3 {
		return errors.New("want the group's name, how many of its members are wanted, and the members")
	}
	e := policyEntry{name: words[0], group: -1}
	for _, name := range words[2:] {
		at := p.find(name)
		if at < 0 || p.policy.entries[at].group >= 0 {
			return fmt.Errorf("the member %q is not defined above, or a member already", name)
		}
		p.policy.entries[at].group = len(p.policy.entries)
		e.members = append(e.members, at)
	}
	switch words[1] {
	case "any":
		e.need = 1
	case "all":
		e.need = len(e.members)
	default:
		k, err := strconv.ParseUint(words[1], 10, 16)
		if err != nil || k < 1 || int(k) > len(e.members) || strconv.FormatUint(k, 10) != words[1] {
			return fmt.Errorf("%q of %d members", words[1], len(e.members))
		}
		e.need = int(k)
	}
	return p.define(e)
}

func (p *policyReader) readQuorum(words []string) error {
	if len(words) != 1 {
		return errors.New("want one name")
	}
	p.hasQuorum = true
	if words[0] == quorumNone {
		return nil
	}
	if p.policy.quorum = p.find(words[0]); p.policy.quorum < 0 {
		return fmt.Errorf("the quorum %q is not defined above", words[0])
	}
	return nil
}

func (p *policyReader) find(name string) int {
	return slices.IndexFunc(p.policy.entries, func(e policyEntry) bool { return e.name == name })
}

func (p *policyReader) define(e policyEntry) error {
	switch {
	case e.name == quorumNone:
		return fmt.Errorf("the name %q means no quorum", quorumNone)
	case p.find(e.name) >= 0:
		return fmt.Errorf("the name %q stands twice", e.name)
	case len(p.policy.entries) == 2*policyEntriesMax:
		return fmt.Errorf("more than %d witnesses and groups", 2*policyEntriesMax)
	}
	p.policy.entries = append(p.policy.entries, e)
	return nil
}

func (p *policyReader) checkWhole() error {
	if !p.hasQuorum {
		return errors.New("no quorum")
	}
	p.policy.text = p.lines.String()
	for i, e := range p.policy.entries {
		if e.witness == nil {
			continue
		}
		if slices.ContainsFunc(p.policy.logs, e.witness.isSameKey) {
			return fmt.Errorf("the witness %q is the log itself", e.name)
		}
		for _, other := range p.policy.entries[:i] {
			if other.witness != nil && other.witness.name == e.witness.name && !p.isOneGroup(&e, &other) {
				return fmt.Errorf("%q and %q are keys of one witness, which counts once: put both into a group of their own", other.name, e.name)
			}
		}
	}
	return nil
}

// isOneGroup reports whether two keys of one witness are in the same group, and no other member is.
func (p *policyReader) isOneGroup(a, b *policyEntry) bool {
	if a.group < 0 || a.group != b.group {
		return false
	}
	for _, at := range p.policy.entries[a.group].members {
		if member := p.policy.entries[at].witness; member == nil || member.name != a.witness.name {
			return false
		}
	}
	return true
}

// isSameKey reports whether two verifiers hold the same public key, whatever its name and its use.
func (v *verifier) isSameKey(other *verifier) bool {
	if v.quantum != nil || other.quantum != nil {
		return v.quantum != nil && other.quantum != nil && v.quantum.Equal(other.quantum)
	}
	return v.classic.Equal(other.classic)
}

// Text returns the policy: its lines that mean something.
func (p *Policy) Text() string { return p.text }

// HasLogs reports whether a policy names logs, so that it says by itself whose checkpoints it is
// about.
func (p *Policy) HasLogs() bool { return len(p.logs) > 0 }

// Demands reports whether a policy demands a witness at all.
func (p *Policy) Demands() bool { return p.quorum >= 0 }

// Witnesses returns all witnesses of a policy, in its order, each key once.
func (p *Policy) Witnesses() []PolicyWitness {
	var all []PolicyWitness
	for _, e := range p.entries {
		if e.witness != nil {
			all = append(all, PolicyWitness{Name: e.witness.name, URL: e.url, Key: e.witness.key})
		}
	}
	return all
}

// Need says in words what the quorum wants; "" if it wants nothing.
func (p *Policy) Need() string {
	if p.quorum < 0 {
		return ""
	}
	return p.describe(p.quorum)
}

// describe says what an entry wants. It ends, because members stand above their group.
func (p *Policy) describe(at int) string {
	e := &p.entries[at]
	if e.witness != nil {
		return e.witness.name
	}
	var members []string
	for _, member := range e.members {
		members = append(members, p.describe(member))
	}
	return fmt.Sprintf("%d of %s (%s)", e.need, e.name, strings.Join(members, ", "))
}

// Check returns a *QuorumError unless the cosignatures in a checkpoint meet the quorum. Like
// Cosignatures it does not check whether the log signed.
func (p *Policy) Check(signed []byte) error {
	var keys strings.Builder
	for _, w := range p.Witnesses() {
		keys.WriteString(w.Key + "\n")
	}
	var found []Cosignature
	if keys.Len() > 0 {
		var err error
		if found, err = Cosignatures(signed, keys.String()); err != nil {
			return err
		}
	}
	_, err := p.judge(func(w *cosigner) bool {
		return slices.ContainsFunc(found, func(f Cosignature) bool { return f.Key == w.key })
	})
	return err
}

// judge returns the names of the witnesses that signed. The error is a *QuorumError if they are too
// few for the quorum.
func (p *Policy) judge(signed func(*cosigner) bool) ([]string, error) {
	var have, missing []string
	met := make([]bool, len(p.entries))
	for i, e := range p.entries { // Each entry stands behind its members.
		if e.witness == nil {
			count := 0
			for _, member := range e.members {
				if met[member] {
					count++
				}
			}
			met[i] = count >= e.need
			continue
		}
		met[i] = signed(e.witness)
		switch {
		case met[i] && !slices.Contains(have, e.witness.name):
			have = append(have, e.witness.name)
		case !met[i] && p.isWanted(i):
			missing = append(missing, e.witness.name)
		}
	}
	if p.quorum < 0 || met[p.quorum] {
		return have, nil
	}
	return have, &QuorumError{Have: have, Need: p.Need(), Missing: slices.Compact(missing)}
}

// isWanted reports whether an entry is part of the quorum.
func (p *Policy) isWanted(at int) bool {
	for at >= 0 && at != p.quorum {
		at = p.entries[at].group
	}
	return at >= 0
}

// demandPolicy checks the quorum of a policy over verified signatures.
func (p *Policy) demandPolicy(c *Checkpoint, signatures []sumdb.Signature) error {
	have, err := p.judge(func(w *cosigner) bool { return signedLine(signatures, w.verifier) != "" })
	if err != nil {
		return err
	}
	for _, name := range have {
		if !slices.Contains(c.Witnesses, name) {
			c.Witnesses = append(c.Witnesses, name)
		}
	}
	c.Quorum = p.Need()
	return nil
}

// JoinPolicy returns a document of verifier keys that demands what a policy demands. Without keys
// the policy's logs are trusted; otherwise one of them must be among the keys, if there are any.
func JoinPolicy(keys, policy string) (string, error) {
	p, err := ParsePolicy(policy)
	if err != nil {
		return "", err
	}
	if keys != "" && !strings.HasSuffix(keys, "\n") {
		keys += "\n"
	}
	joined := keys + p.text
	_, err = parseKeys(joined)
	return joined, err
}

// splitPolicy takes the policy out of a document of verifier keys; nil: it has none.
func splitPolicy(document string) (keys string, policy *Policy, err error) {
	var rest, lines strings.Builder
	for line := range strings.Lines(document) {
		if isPolicyLine(strings.TrimRight(line, "\r\n")) {
			lines.WriteString(strings.TrimSuffix(line, "\n") + "\n")
			continue
		}
		rest.WriteString(line)
	}
	if lines.Len() == 0 {
		return document, nil, nil
	}
	policy, err = ParsePolicy(lines.String())
	return rest.String(), policy, err
}

// addPolicy adds a policy to the keys of a document: its logs, where there are no other keys, and
// its demand.
func (k *knownKeys) addPolicy(p *Policy) error {
	k.policy = p
	for _, s := range k.ranges {
		for _, v := range s.keys {
			for _, e := range p.entries {
				if e.witness != nil && e.witness.isSameKey(v) {
					return fmt.Errorf("the witness %q of the policy is the log itself: %w", e.name, ErrMalformed)
				}
			}
		}
	}
	if len(p.logs) == 0 {
		return nil
	}
	if len(k.ranges) > 0 {
		for _, s := range k.ranges {
			if slices.ContainsFunc(s.texts, func(text string) bool { return slices.Contains(p.logTexts, text) }) {
				return nil
			}
		}
		return fmt.Errorf("the policy is about other logs than the verifier keys: %w", ErrMalformed)
	}
	for i, v := range p.logs {
		at := slices.IndexFunc(k.ranges, func(s *keyRange) bool { return s.isOfOrigin(v.name) })
		if at < 0 {
			k.ranges, at = append(k.ranges, newestRange()), len(k.ranges)
		}
		k.ranges[at].keys, k.ranges[at].texts = append(k.ranges[at].keys, v), append(k.ranges[at].texts, p.logTexts[i])
	}
	return nil
}
