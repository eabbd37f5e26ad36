package reconciliation

import (
	"strconv"
	"strings"

	"railguard/audit/reconcile"
	"railguard/audit/reconcile/formats"
	"railguard/engine"
	"railguard/httpapi/border"
	"railguard/httpapi/x402"
	"railguard/strictjson"
)

// parameters are those of POST /v1/reconciliations. The body is the extract.
var parameters = []string{"rail", "from", "to", "payer", "format", "network", "assets", "skewSeconds", "settleWithinSeconds", "recordsFrom"}

// rails are the rails that a screening call can name.
var rails = []string{"USDC", "ACH", "WIRE", "SWIFT", "IBAN"}

// order is what a caller asks for.
type order struct {
	settings reconcile.Settings
	options  formats.Options
	from, to engine.Time // The time of the records, both inclusive, whole milliseconds.
}

// readOrder reads a caller's parameters. now is log time.
func readOrder(c *border.Request, now engine.Time) (order, error) {
	o := order{settings: reconcile.Settings{Rail: strings.ToUpper(c.Query("rail")), Payer: c.Query("payer"), Format: c.Query("format"), Network: c.Query("network"), Skew: reconcile.SkewDefault}}
	s := &o.settings
	known := false
	for _, rail := range rails {
		known = known || s.Rail == rail
	}
	if !known {
		return o, border.BadQuery("rail", "must be "+strings.Join(rails, ", "))
	}
	if s.Format == "" {
		s.Format = formats.Lines
	}
	s.SettleWithin = reconcile.SettleWithinDefault(s.Rail)
	for _, at := range []struct {
		name string
		to   *engine.Time
	}{{"from", &s.From}, {"to", &s.To}} {
		instant, ok := strictjson.ParseTime(c.Query(at.name))
		if !ok {
			return o, border.BadQuery(at.name, "is required: a time of ISO 8601")
		}
		*at.to = instant
	}
	for _, span := range []struct {
		name string
		to   *engine.Time
	}{{"skewSeconds", &s.Skew}, {"settleWithinSeconds", &s.SettleWithin}} {
		if !c.HasQuery(span.name) {
			continue
		}
		seconds, err := strconv.ParseUint(c.Query(span.name), 10, 24)
		if err != nil {
			return o, border.BadQuery(span.name, "must be a whole number of seconds")
		}
		*span.to = engine.Time(seconds) * engine.Second
	}
	if err := o.readAssets(c); err != nil {
		return o, err
	}
	return o, o.settleRecords(c, now)
}

// readAssets reads which tokens count as dollars, where the format has tokens.
func (o *order) readAssets(c *border.Request) error {
	s := &o.settings
	o.options = formats.Options{Network: s.Network, Payer: s.Payer, From: s.From, To: s.To}
	if s.Format != formats.ERC20 && s.Format != formats.X402 {
		if s.Network != "" || c.Query("assets") != "" {
			return border.BadQuery("network", "and assets belong to the formats erc20 and x402")
		}
		return nil
	}
	tokens := x402.Published
	if list := c.Query("assets"); list != "" {
		var err error
		if tokens, err = x402.ParseAssets(strings.Split(list, ",")); err != nil {
			return border.BadQuery("assets", err.Error())
		}
	}
	for _, token := range tokens {
		asset := formats.Asset{Network: token.Network, Address: token.Address, Decimals: token.Decimals}
		o.options.Assets = append(o.options.Assets, asset)
		s.Assets = append(s.Assets, asset.CAIP())
	}
	return nil
}

// settleRecords chooses the time of the records: from twice settleWithin before the window, unless
// the caller says from when, up to the last millisecond whose records are all written.
func (o *order) settleRecords(c *border.Request, now engine.Time) error {
	s := &o.settings
	o.from = s.From - 2*s.SettleWithin - s.Skew
	if c.HasQuery("recordsFrom") {
		from, ok := strictjson.ParseTime(c.Query("recordsFrom"))
		if !ok || from > s.From {
			return border.BadQuery("recordsFrom", "must be a time of ISO 8601, and not after from")
		}
		o.from = from
	}
	o.from = max(o.from, now-engine.Retention+engine.Millisecond, 0) / engine.Millisecond * engine.Millisecond
	o.to = (now - engine.Millisecond) / engine.Millisecond * engine.Millisecond
	return nil
}

// checkFormat says as an answer what is wrong with format and assets.
func (o *order) checkFormat() error {
	if _, err := formats.NewReader(o.settings.Format, o.options, nil); err != nil {
		return border.BadQuery("format", err.Error())
	}
	return nil
}
