package engine

// Places is what became of the countries and regions of a payment.
type Places struct {
	Block  Sub // Of R24: one of them is embargoed for sure.
	Review Sub // Of R20: one of them is reviewed, doubtful or cannot be read.
}

// jurisdiction is R24.
func jurisdiction(f *Facts) Sub { return f.Places.Block }
