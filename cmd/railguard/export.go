package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/spf13/cobra"
)

// continueHeader names the response header with the query that continues an export; the query
// lacks the cursor.
const continueHeader = "X-Railguard-Continue"

// exportAsked is what an export was asked for. A partial file is continued only if it was
// asked for the same.
type exportAsked struct {
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Format string `json:"format"`
	Agent  string `json:"agentId,omitempty"`
}

type exportRun struct {
	client
	asked  exportAsked
	path   string
	reason string
	resume bool
}

// newAuditExport is `railguard audit export`: it streams an export to a file and shows
// progress.
func newAuditExport() *cobra.Command {
	x := &exportRun{}
	cmd := &cobra.Command{
		Use: "export", Short: "Stream records with their proofs to a file", Args: cobra.NoArgs,
		Long: `Stream all records of a time with their proofs, for ` + "`railguard verify`" + `. With
--file the records go to FILE.part until the export is whole; only then is it
called FILE. When the stream breaks, run the same command again: it goes on
where it stopped, also at another node.

Exit codes: 0 whole, 1 refused, 64 wrong flags, 3 broken off or not reachable.`,
		Example: "  railguard audit export --from 2026-03-01T00:00:00Z --to 2026-04-01T00:00:00Z --file march.ndjson\n  railguard verify march.ndjson --keys keys.txt",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := x.findServer(cmd, false); err != nil {
				return err
			}
			if x.asked.Format != "ndjson" && x.asked.Format != "csv" {
				return usageError("--format must be ndjson or csv")
			}
			x.readAsStream()
			if x.path == "" {
				return x.toOutput(cmd)
			}
			return x.toFile(cmd)
		},
	}
	x.defineFlags(cmd, false)
	cmd.Flags().StringVar(&x.asked.From, "from", "", "from this time on (default: all 90 days)")
	cmd.Flags().StringVar(&x.asked.To, "to", "", "up to this time")
	cmd.Flags().StringVar(&x.asked.Format, "format", "ndjson", "ndjson (with proofs) or csv")
	cmd.Flags().StringVar(&x.asked.Agent, "agent", "", "only what is of this agent, with its decision before the time and the one after: verify proves by their numbers that none was left out")
	cmd.Flags().StringVar(&x.reason, "reason", "", "why: it stands in the leaf that says who exported")
	cmd.Flags().StringVar(&x.path, "file", "", "where to write (default: standard output)")
	cmd.Flags().BoolVar(&x.resume, "resume", true, "go on with FILE.part where one stands; false: begin anew")
	return cmd
}

func (x *exportRun) buildQuery() string {
	query := url.Values{"format": {x.asked.Format}, "cosigned": {"true"}}
	for name, value := range map[string]string{"from": x.asked.From, "to": x.asked.To, "agentId": x.asked.Agent} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query.Encode()
}

func (x *exportRun) openRequest(cmd *cobra.Command, query string) (*http.Response, error) {
	return x.openAnswer(cmd.Context(), &call{method: http.MethodGet, path: "/v1/audit/export?" + query + reasonQuery(x.reason)})
}

// toOutput streams to standard output, where nothing can be taken back: only the exit code
// shows that the end is missing.
func (x *exportRun) toOutput(cmd *cobra.Command) error {
	response, err := x.openRequest(cmd, x.buildQuery())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	end := &endWatch{mark: endMark(x.asked.Format)}
	n, err := io.Copy(io.MultiWriter(cmd.OutOrStdout(), end), response.Body)
	return breakOff(n, err, end)
}

// breakOff returns the error of a stream that ended before its end line, nil for a complete
// one.
func breakOff(n int64, err error, end *endWatch) error {
	if err == nil && end.hasEnded() {
		return nil
	}
	if err == nil {
		err = errors.New("it has no end line")
	}
	return &exitError{code: exitAway, err: fmt.Errorf("the export broke off after %d bytes: %w", n, err)}
}

// toFile writes the export to a file. If the stream breaks and there are several addresses, it
// continues at the next one, trying each address at most twice.
func (x *exportRun) toFile(cmd *cobra.Command) error {
	for try := 1; ; try++ {
		err := x.toFileOnce(cmd)
		var coded *exitError
		away := errors.As(err, &coded) && coded.code == exitAway
		if !away || len(x.url) < 2 || try == 2*len(x.url) || cmd.Context().Err() != nil {
			return err
		}
		x.at, x.resume = (x.at+1)%len(x.url), true
		fmt.Fprintf(cmd.ErrOrStderr(), "broken off; tried at %s\n", x.url[x.at])
	}
}

// toFileOnce streams to a partial file, from where an earlier try stopped, and renames the
// file when it is complete.
func (x *exportRun) toFileOnce(cmd *cobra.Command) error {
	p, err := x.openPartial()
	if err != nil {
		return err
	}
	defer p.file.Close()
	if !p.whole {
		if err := x.fillPartial(cmd, p); err != nil {
			return err
		}
	}
	if err := p.file.Sync(); err != nil {
		return err
	}
	if err := p.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(p.file.Name(), x.path); err != nil {
		return err
	}
	_ = os.Remove(x.notesPath()) // Of no use without the partial file.
	return nil
}

// fillPartial streams what a partial file still lacks.
func (x *exportRun) fillPartial(cmd *cobra.Command, p *partial) error {
	response, err := x.openRequest(cmd, p.query)
	if err != nil {
		if p.goesOn {
			return fmt.Errorf("%w\n  %s is kept; --resume=false begins anew", err, p.file.Name())
		}
		return err
	}
	defer response.Body.Close()
	if p.goesOn {
		fmt.Fprintf(cmd.ErrOrStderr(), "going on with %s\n", p.file.Name())
	} else if err := x.writeNote(response.Header.Get(continueHeader)); err != nil {
		return err
	}
	end := &endWatch{mark: endMark(x.asked.Format)}
	bar := newProgress(cmd.ErrOrStderr(), "exported")
	n, err := io.Copy(io.MultiWriter(p.file, end, bar), response.Body)
	bar.endLine()
	if err := breakOff(n, err, end); err != nil {
		return fmt.Errorf("%w\n  run the same command again: it goes on with %s", err, p.file.Name())
	}
	return nil
}

// notesPath is the path of the file that says how to continue a partial file.
func (x *exportRun) notesPath() string { return x.path + ".part.json" }

// exportNotes is the content of the file at notesPath.
type exportNotes struct {
	Asked exportAsked `json:"asked"`
	Rest  string      `json:"rest"` // Query for the rest, without the cursor.
}

func (x *exportRun) writeNote(rest string) error {
	if rest == "" {
		return nil // The server cannot continue an export.
	}
	data, err := json.Marshal(exportNotes{Asked: x.asked, Rest: rest})
	if err != nil {
		return err
	}
	return os.WriteFile(x.notesPath(), data, 0o600)
}

// partial is a file that holds the part of an export received so far.
type partial struct {
	file   *os.File
	query  string // Query for what is missing.
	goesOn bool
	whole  bool
}

// openPartial opens the partial file and cuts it after its last complete record. It empties a
// file that cannot be continued.
func (x *exportRun) openPartial() (*partial, error) {
	notes, known, err := x.readNotes()
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(x.path+".part", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, usageError("--file: %w", err)
	}
	p := &partial{file: file, query: x.buildQuery()}
	came := reached{}
	if known {
		came, err = whereIn(file, x.asked.Format)
	}
	if err == nil && came.any {
		p.goesOn, p.whole = true, came.whole
		p.query = notes.Rest + "&cursor=" + strconv.FormatUint(came.cursor, 10)
	}
	if err == nil {
		err = file.Truncate(came.offset)
	}
	if err == nil {
		_, err = file.Seek(came.offset, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return p, nil
}

// readNotes reads how to continue a partial file; known is false if there is no such file.
func (x *exportRun) readNotes() (notes exportNotes, known bool, err error) {
	if !x.resume {
		_ = os.Remove(x.notesPath())
		return notes, false, nil
	}
	data, err := os.ReadFile(x.notesPath())
	if err != nil || json.Unmarshal(data, &notes) != nil {
		return notes, false, nil //nolint:nilerr // Without notes that can be read an export begins anew.
	}
	if _, err := os.Stat(x.path + ".part"); err != nil {
		return notes, false, nil //nolint:nilerr // Likewise without the part they speak of.
	}
	if notes.Asked != x.asked {
		return notes, false, usageError("%s.part is of another export (--from %q --to %q --format %s): finish it with those, remove it, or begin anew with --resume=false",
			x.path, notes.Asked.From, notes.Asked.To, notes.Asked.Format)
	}
	return notes, true, nil
}

// reached says how much of an export is in a partial file.
type reached struct {
	any    bool   // The file has a complete record.
	cursor uint64 // Index of the last complete record.
	offset int64  // End of that record in the file; if whole is set, the end of the file.
	whole  bool
}

func whereIn(file *os.File, format string) (reached, error) {
	if format == "csv" {
		return whereInTable(file)
	}
	lines := bufio.NewReaderSize(file, 1<<20)
	var came reached
	var last []byte
	var at int64
	for {
		line, err := readLine(lines)
		if err == io.EOF {
			break // A line without a line end is incomplete.
		}
		if err != nil {
			return reached{}, err
		}
		at += int64(len(line))
		last = append(last[:0], line...)
	}
	var record struct {
		Type  string
		Index uint64
	}
	if json.Unmarshal(last, &record) != nil || record.Type != "leaf" && record.Type != "end" {
		return came, nil //nolint:nilerr // Nothing yet, or nothing that could be gone on with.
	}
	return reached{any: true, cursor: record.Index, offset: at, whole: record.Type == "end"}, nil
}

// exportLineMax bounds a line read from a partial export, in bytes.
const exportLineMax = 8 << 20

// readLine reads one line with its line end. It returns io.EOF for a line without one.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
		if len(line) > exportLineMax {
			return nil, errors.New("not an export: its lines are too long")
		}
	}
}

func whereInTable(file *os.File) (reached, error) {
	rows := csv.NewReader(file)
	rows.ReuseRecord = true
	var came reached
	for {
		row, err := rows.Read()
		if err != nil {
			return came, nil //nolint:nilerr // The end, or half a row.
		}
		at := rows.InputOffset()
		var ending [1]byte
		if _, err := file.ReadAt(ending[:], at-1); err != nil || ending[0] != '\n' {
			return came, err
		}
		if row[0] == "end" {
			return reached{any: true, offset: at, whole: true}, nil
		}
		if index, err := strconv.ParseUint(row[0], 10, 64); err == nil {
			came = reached{any: true, cursor: index, offset: at}
		}
	}
}

// endMark returns how the last line of an export begins.
func endMark(format string) string {
	if format == "csv" {
		return "end,"
	}
	return `{"type":"end"`
}

// endWatch is a writer that looks for an export's last line.
type endWatch struct {
	mark string
	line []byte // The beginning of the line that is being written.
	last []byte // The beginning of the last complete line.
}

func (e *endWatch) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		piece, after, ended := bytes.Cut(rest, []byte("\n"))
		e.line = append(e.line, piece[:min(len(piece), max(0, len(e.mark)-len(e.line)))]...)
		if !ended {
			break
		}
		e.last, e.line, rest = append(e.last[:0], e.line...), e.line[:0], after
	}
	return len(data), nil
}

// hasEnded reports whether the end line was written and nothing after it.
func (e *endWatch) hasEnded() bool { return len(e.line) == 0 && string(e.last) == e.mark }
