package reconcile

// classify says of which class every matched settlement is, and then what was allowed and never
// paid.
func (r *Run) classify() error {
	r.weighSeveral()
	for at := range r.settlements {
		s := &r.settlements[at]
		if s.ending != endMatched {
			continue
		}
		r.matched[s.way].add(s)
		class, wrong := r.classOf(int32(at), s)
		switch {
		case wrong:
			if err := r.say(finding{class: class, settlement: int32(at), record: s.record, list: s.list}); err != nil {
				return err
			}
		case s.returned >= 0 && r.records[s.record].releasedAt == 0:
			if err := r.say(finding{class: Returned, settlement: s.returned, record: s.record, list: -1}); err != nil {
				return err
			}
		}
	}
	return r.classifyUnpaid()
}

// weighSeveral notes of every record with several settlements which one is its payment, and
// whether they add up to it.
func (r *Run) weighSeveral() {
	for at := range r.records {
		row := &r.records[at]
		if row.hitCount < 2 {
			continue
		}
		var paid Amount
		for l := row.hits; l >= 0; l = r.hits[l].next {
			settlement := r.hits[l].at
			amount := r.settlements[settlement].amount
			paid = paid.plus(amount)
			if amount.equals(row.counts()) && (row.exact < 0 || r.before(settlement, row.exact)) {
				row.exact = settlement
			}
		}
		row.several, row.fits = true, paid.equals(row.counts())
	}
}

// classOf is the first class that holds for a matched settlement; wrong is false if none does.
func (r *Run) classOf(at int32, s *settlementRow) (class Class, wrong bool) {
	if s.list >= 0 {
		if r.lists[s.list].merged {
			return Merged, true
		}
		return AmountDiffers, true
	}
	row := &r.records[s.record]
	until, since := row.until(), row.since()
	right := s.amount.equals(row.counts())
	switch {
	case !row.isAllowed():
		return NotAllowed, true
	case row.several && row.exact >= 0 && row.exact != at:
		return Duplicate, true
	case until != 0 && s.first > until+r.settings.Skew:
		return AfterEnd, true
	case s.last < since-r.settings.Skew:
		return BeforeVerdict, true
	case row.payee != (key{}) && s.payee != (key{}) && row.payee != s.payee:
		return PayeeDiffers, true
	case row.payer != (key{}) && s.payer != (key{}) && row.payer != s.payer:
		return PayerDiffers, true
	case !s.isDollar:
		return CurrencyDiffers, true
	case row.several && row.exact < 0 && row.fits:
		return Split, true
	case !right:
		return AmountDiffers, true
	case row.told && !s.sameRail:
		return ToldOtherwise, true
	case s.first > since+r.settings.SettleWithin:
		return Late, true
	}
	return 0, false
}

// classifyUnpaid says of every record that may be paid and was not what that means.
func (r *Run) classifyUnpaid() error {
	for at := range r.records {
		row := &r.records[at]
		if !row.isOpen() || row.anywhere {
			continue
		}
		if !row.told && row.until() != 0 {
			continue // Given back, run out or lapsed, and nobody said that it was paid.
		}
		class := NeverSettled
		if row.told {
			class = ToldNotFound
		}
		due := row.since() + r.settings.SettleWithin
		switch {
		case due >= r.settings.To:
			class = Deferred
		case row.since() < r.settings.From-r.settings.SettleWithin:
			continue // An earlier run was to say it.
		}
		if err := r.say(finding{class: class, settlement: -1, record: int32(at), list: -1}); err != nil {
			return err
		}
	}
	return nil
}
