package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"railguard/engine"
)

// fileRun is one run of `railguard screen --file`: it sends a file of payments, one JSON
// object a line, through the batch call. The idempotency key of a payment is derived from its
// bytes, so that a run that broke off can simply be repeated.
type fileRun struct {
	client   *client
	path     string
	out      string
	run      string // Name of the run, part of the idempotency keys.
	token    string // Credential for payments that have none.
	size     int    // Payments in a batch.
	parallel int

	total  tally
	seen   map[[16]byte]uint32 // By a hash of the payment: how often the file has had it so far.
	errors chan error
}

// Bounds of a run.
const (
	fileBatchMax    = engine.BatchMax
	fileBatchBytes  = 1 << 20
	fileLineMax     = 64 << 10
	fileLinesMax    = 8_388_608 // A cluster keeps no more idempotency keys than that.
	fileParallelMax = 64
	fileTries       = 8
)

// filePause is the first pause between two tries. Each pause is twice as long as the one
// before, up to 16 times the first. It is a variable for tests only.
var filePause = 250 * time.Millisecond

func (x *fileRun) defineFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&x.path, "file", "", "screen all payments of this file, one JSON object a line (- is standard input)")
	flags.StringVar(&x.out, "out", "", "with --file: where the results go, one a line (default: standard output)")
	flags.StringVar(&x.run, "run", "", "with --file: name of the run; the same payments under another name are other payments")
	flags.IntVar(&x.size, "batch", 100, fmt.Sprintf("with --file: payments in one call, 1 to %d", fileBatchMax))
	flags.IntVar(&x.parallel, "parallel", 4, fmt.Sprintf("with --file: calls at once, 1 to %d", fileParallelMax))
}

// tally counts the outcomes of the payments.
type tally struct {
	lines, refused, open, replayed int
	verdicts                       map[string]int
}

// filePayment is one line of the file, with its result.
type filePayment struct {
	line   int
	body   []byte // What is sent; nil if the line cannot be sent.
	result []byte // What is written, without the line number.
}

// fileBatch is a group of payments that are sent in one call.
type fileBatch struct {
	payments []filePayment
	read     int64 // Bytes of the file read so far.
	done     chan struct{}
}

// screenFile reads payments, sends them and writes the results in the order of the file.
func (x *fileRun) screenFile(cmd *cobra.Command) error {
	if x.size < 1 || x.size > fileBatchMax || x.parallel < 1 || x.parallel > fileParallelMax {
		return usageError("--batch must be 1 to %d and --parallel 1 to %d", fileBatchMax, fileParallelMax)
	}
	in, size, err := openPayments(x.path, cmd.InOrStdin())
	if err != nil {
		return err
	}
	defer in.Close()
	out, finish, err := x.openOutput(cmd.OutOrStdout())
	if err != nil {
		return err
	}
	began, shown := time.Now(), newProgress(cmd.ErrOrStderr(), "screening")
	err = x.streamBatches(cmd.Context(), in, func(b *fileBatch) error {
		shown.setDone(b.read, size)
		return x.writeBatch(out, b)
	})
	shown.endLine()
	if closing := finish(); err == nil {
		err = closing
	}
	x.printSummary(cmd.ErrOrStderr(), time.Since(began))
	return x.exitVerdict(err)
}

func openPayments(path string, standard io.Reader) (io.ReadCloser, int64, error) {
	if path == "-" {
		return io.NopCloser(standard), 0, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, usageError("--file: %w", err)
	}
	size := int64(0)
	if info, err := file.Stat(); err == nil {
		size = info.Size()
	}
	return file, size, nil
}

func (x *fileRun) openOutput(standard io.Writer) (*bufio.Writer, func() error, error) {
	if x.out == "" {
		buffered := bufio.NewWriter(standard)
		return buffered, buffered.Flush, nil
	}
	file, err := os.OpenFile(x.out, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, usageError("--out: %w", err)
	}
	buffered := bufio.NewWriter(file)
	return buffered, func() error { return errors.Join(buffered.Flush(), file.Close()) }, nil
}

// streamBatches sends several batches at once and calls take with them in the order of the
// file. It ends at an error that a retry cannot mend, such as a wrong API key or a line that
// is too long.
func (x *fileRun) streamBatches(ctx context.Context, in io.Reader, take func(*fileBatch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	x.seen, x.total.verdicts, x.errors = map[[16]byte]uint32{}, map[string]int{}, make(chan error, x.parallel+1)
	work, order := make(chan *fileBatch, x.parallel), make(chan *fileBatch, 2*x.parallel)
	for range x.parallel {
		own := *x.client // Each worker remembers which address answered it last.
		go func() {
			for b := range work {
				if err := x.sendPayments(ctx, &own, b.payments); err != nil {
					x.errors <- err
					return
				}
				close(b.done)
			}
		}()
	}
	go func() {
		defer close(work)
		defer close(order)
		if err := x.readBatches(ctx, in, work, order); err != nil {
			x.errors <- err
		}
	}()
	for b := range order {
		select {
		case <-b.done:
		case err := <-x.errors:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := take(b); err != nil {
			return err
		}
	}
	select {
	case err := <-x.errors:
		return err
	default:
		return nil
	}
}

// readBatches groups the lines into batches.
func (x *fileRun) readBatches(ctx context.Context, in io.Reader, work, order chan<- *fileBatch) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), 1<<20)
	b, bytesHeld, read := &fileBatch{done: make(chan struct{})}, 0, int64(0)
	flush := func() error {
		if b.read = read; len(b.payments) == 0 {
			return nil
		}
		for _, to := range []chan<- *fileBatch{order, work} {
			select {
			case to <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		b, bytesHeld = &fileBatch{done: make(chan struct{})}, 0
		return nil
	}
	for number := 1; lines.Scan(); number++ {
		read += int64(len(lines.Bytes())) + 1
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		if number > fileLinesMax {
			return fmt.Errorf("%s has more than %d lines: split it", x.path, fileLinesMax)
		}
		payment := x.preparePayment(number, text)
		b.payments = append(b.payments, payment)
		if bytesHeld += len(payment.body); len(b.payments) == x.size || bytesHeld > fileBatchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", x.path, err)
	}
	return flush()
}

// preparePayment makes a line ready to be sent: it adds an idempotency key and the token where
// they are missing.
func (x *fileRun) preparePayment(number int, text []byte) filePayment {
	p := filePayment{line: number}
	var members map[string]json.RawMessage
	switch {
	case len(text) > fileLineMax:
		p.result = []byte(`{"status":413,"code":"payload_too_large","message":"the line is longer than 64 KiB"}`)
		return p
	case text[0] != '{' || json.Unmarshal(text, &members) != nil:
		p.result = []byte(`{"status":400,"code":"invalid_json","message":"the line is not one JSON object"}`)
		return p
	}
	var added []byte
	if _, given := members["token"]; !given && x.token != "" {
		quoted, _ := json.Marshal(x.token) // Marshalling a string never fails.
		added = append(append(append(added, `"token":`...), quoted...), ',')
	}
	if _, given := members["idempotencyKey"]; !given {
		added = append(append(append(added, `"idempotencyKey":"`...), x.idempotencyKey(text)...), `",`...)
	}
	rest := bytes.TrimLeft(text[1:], " \t\r\n")
	if len(members) == 0 {
		added = bytes.TrimSuffix(added, []byte{','})
	}
	p.body = append(append([]byte{'{'}, added...), rest...)
	return p
}

// idempotencyKey derives a key from the run's name, the payment's bytes and how often the file
// has had them before. So lines may be added, removed or moved between two runs.
func (x *fileRun) idempotencyKey(text []byte) string {
	sum := sha256.Sum256(append([]byte("railguard screen --file\x00"+x.run+"\x00"), text...))
	again := x.seen[[16]byte(sum[:])]
	x.seen[[16]byte(sum[:])] = again + 1
	return fmt.Sprintf("file-%s-%d", hex.EncodeToString(sum[:16]), again)
}

// sendPayments sends payments until each has an outcome, at most fileTries times. A payment
// without an outcome stays open, with its last answer as its result.
func (x *fileRun) sendPayments(ctx context.Context, c *client, payments []filePayment) error {
	var waiting []*filePayment
	for i := range payments {
		if payments[i].body != nil {
			waiting = append(waiting, &payments[i])
		}
	}
	for try := 0; len(waiting) > 0 && try < fileTries; try++ {
		if try > 0 {
			select {
			case <-time.After(filePause << min(try-1, 4)):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := x.sendOnce(ctx, c, waiting); err != nil {
			return err
		}
		still := waiting[:0]
		for _, p := range waiting {
			if read := readResult(p.result); read.Status == http.StatusServiceUnavailable || read.Code == "idempotency_in_flight" {
				still = append(still, p)
			}
		}
		waiting = still
	}
	return nil
}

// sendOnce sends payments in one call. If the whole call is refused because of its content, it
// sends each half by itself, so that only the bad payment gets the error.
func (x *fileRun) sendOnce(ctx context.Context, c *client, payments []*filePayment) error {
	body := []byte(`{"payments":[`)
	for i, p := range payments {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, p.body...)
	}
	data, err := c.fetchAnswer(ctx, &call{method: http.MethodPost, path: "/v1/screen/batch", body: append(body, ']', '}')})
	var refused *exitError
	if errors.As(err, &refused) {
		return x.recordRefusal(ctx, c, payments, refused)
	}
	if err != nil {
		return err
	}
	var answer struct{ Results []json.RawMessage }
	if err := json.Unmarshal(data, &answer); err != nil || len(answer.Results) != len(payments) {
		return fmt.Errorf("the answer has %d results for %d payments", len(answer.Results), len(payments))
	}
	for i, p := range payments {
		p.result = answer.Results[i]
	}
	return nil
}

func (x *fileRun) recordRefusal(ctx context.Context, c *client, payments []*filePayment, refused *exitError) error {
	switch status := refused.status; {
	case ctx.Err() != nil:
		return ctx.Err()
	case refused.code == exitAway, status == http.StatusTooManyRequests:
		for _, p := range payments { // They are sent again; because of the key a payment counts once, even if this call succeeded.
			p.result = []byte(`{"status":503,"code":"outcome_unknown","outcome":"unknown","message":` + quoteText(refused.Error()) + `}`)
		}
		return nil
	case status != http.StatusBadRequest && status != http.StatusRequestEntityTooLarge:
		return refused
	case len(payments) == 1:
		payments[0].result = fmt.Appendf(nil, `{"status":%d,"code":"invalid_json","message":%s}`, status, quoteText(refused.Error()))
		return nil
	}
	half := len(payments) / 2
	if err := x.sendOnce(ctx, c, payments[:half]); err != nil {
		return err
	}
	return x.sendOnce(ctx, c, payments[half:])
}

func quoteText(text string) string {
	data, _ := json.Marshal(text) // Marshalling a string never fails.
	return string(data)
}

// fileResult is the part of a payment's result that a run reads.
type fileResult struct {
	Status        int
	Verdict, Code string
	Replayed      bool
}

func readResult(data []byte) (read fileResult) {
	_ = json.Unmarshal(data, &read) // Our own service wrote it. If it cannot be read, the status is 0, which counts as refused.
	return read
}

func (x *fileRun) writeBatch(out *bufio.Writer, b *fileBatch) error {
	for i := range b.payments {
		p := &b.payments[i]
		read := readResult(p.result)
		x.total.lines++
		switch {
		case read.Status == http.StatusOK:
			x.total.verdicts[read.Verdict]++
		case read.Status == http.StatusServiceUnavailable || read.Code == "idempotency_in_flight":
			x.total.open++
		default:
			x.total.refused++
		}
		if read.Replayed {
			x.total.replayed++
		}
		if _, err := fmt.Fprintf(out, "{\"line\":%d,%s\n", p.line, p.result[1:]); err != nil {
			return err
		}
	}
	return nil
}

func (x *fileRun) printSummary(out io.Writer, took time.Duration) {
	t := &x.total
	fmt.Fprintf(out, "%d payments in %s (%.0f a second):", t.lines, took.Round(time.Millisecond), float64(t.lines)/max(took.Seconds(), 0.001))
	for _, verdict := range []string{"PROCEED", "REVIEW", "BLOCK", "UNKNOWN"} {
		fmt.Fprintf(out, " %d %s,", t.verdicts[verdict], verdict)
	}
	fmt.Fprintf(out, " %d refused, %d without an outcome; %d were known from before\n", t.refused, t.open, t.replayed)
}

// exitVerdict returns the error that carries the run's exit code, or nil.
func (x *fileRun) exitVerdict(err error) error {
	again := "run the same command again: what has been screened is not screened twice (for 24 hours)"
	switch {
	case errors.Is(err, context.Canceled):
		return &exitError{code: exitAway, err: errors.New("interrupted; " + again)}
	case err != nil:
		return err
	case x.total.open > 0:
		return &exitError{code: exitAway, err: fmt.Errorf("%d payments have no outcome yet; %s", x.total.open, again)}
	case x.total.refused > 0:
		return &exitError{code: exitFailed, err: fmt.Errorf("%d payments were refused; see their results", x.total.refused)}
	}
	return nil
}
