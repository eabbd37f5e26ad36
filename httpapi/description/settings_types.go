package description

type SpendPolicy struct {
	MaxSingleTxUSDC       *Number  `json:"maxSingleTxUSDC,omitempty" range:"0-1000000000000"`
	DailyLimitUSDC        *Number  `json:"dailyLimitUSDC,omitempty" range:"0-1000000000000"`
	AllowedChains         *[]Chain `json:"allowedChains,omitempty"`
	AllowedRails          *[]Rail  `json:"allowedRails,omitempty"`
	CounterpartyScreening *string  `json:"counterpartyScreening,omitempty" schema:"{\"enum\": [\"OFAC\", \"OFAC+CONS\", null]}"`
	NoMixerProtocols      *bool    `json:"noMixerProtocols,omitempty"`
}

type Velocity struct {
	MaxPerMinute *int64 `json:"maxPerMinute,omitempty" range:"1-1000000000"`
	MaxPerHour   *int64 `json:"maxPerHour,omitempty" range:"1-1000000000"`
	BurstFactor  *int64 `json:"burstFactor,omitempty" range:"1-1000000000"`
}

type OperatingHours struct {
	Timezone string        `json:"timezone,omitempty" length:"-FieldMax"`
	Windows  []HoursWindow `json:"windows" items:"1-"`
	Holidays []string      `json:"holidays,omitempty" each:"{\"format\": \"date\"}"`
}

type HoursWindow struct {
	Days []string `json:"days" each:"{\"enum\": [\"MON\", \"TUE\", \"WED\", \"THU\", \"FRI\", \"SAT\", \"SUN\"]}" items:"1-"`
	From string   `json:"from" pattern:"^[0-2][0-9]:[0-5][0-9]$"`
	To   string   `json:"to" pattern:"^[0-2][0-9]:[0-5][0-9]$"`
}

type CounterpartyTypes []CounterpartyType

type NewWhitelist struct {
	Mode    *string      `json:"mode,omitempty" schema:"{\"enum\": [\"enforce\", \"off\", null]}"`
	Kinds   *[]string    `json:"kinds,omitempty" each:"{\"enum\": [\"wallet\", \"name\"]}" items:"-2"`
	Entries *[]KeptEntry `json:"entries,omitempty" items:"-WhitelistMax"`
}

type KeptEntry struct {
	NewEntry
	ID any `json:"id,omitempty" doc:"Ignored: entries as they were read can be sent back."`
}

type Entry struct {
	ID        string `json:"id"`
	Wallet    string `json:"wallet,omitempty"`
	Name      string `json:"name,omitempty"`
	Label     string `json:"label,omitempty"`
	ExpiresAt Time   `json:"expiresAt,omitempty"`
	AddedBy   string `json:"addedBy,omitempty"`
}

type Whitelist struct {
	WhitelistSummary
	AgentID string  `json:"agentId,omitempty"`
	FleetID string  `json:"fleetId,omitempty"`
	Entries []Entry `json:"entries,omitempty"`
}

type WhitelistChange struct {
	Whitelist
	Change    string  `json:"change" enum:"replaced added removed"`
	Entry     Entry   `json:"entry,omitempty"`
	Reason    *string `json:"reason"`
	Actor     *string `json:"actor"`
	UpdatedAt Time    `json:"updatedAt"`
	EventID   string  `json:"eventId,omitempty"`
	Unchanged bool    `json:"unchanged,omitempty"`
}

type AgentSettings struct {
	AgentID                  string              `json:"agentId"`
	OperatingHours           *OperatingHours     `json:"operatingHours,omitempty"`
	Velocity                 *Velocity           `json:"velocity,omitempty"`
	AllowedCounterpartyTypes *[]CounterpartyType `json:"allowedCounterpartyTypes,omitempty"`
	Whitelist                *WhitelistSummary   `json:"whitelist,omitempty"`
	Possession               *string             `json:"possession,omitempty" schema:"{\"enum\": [\"review\", \"required\", null]}"`
	EffectiveVelocity        Velocity            `json:"effectiveVelocity,omitempty"`
	Warnings                 []Warning           `json:"warnings,omitempty"`
	Rev                      int64               `json:"rev"`
	Reason                   *string             `json:"reason"`
	Actor                    *string             `json:"actor"`
	UpdatedAt                Time                `json:"updatedAt"`
	EventID                  string              `json:"eventId,omitempty"`
	Unchanged                bool                `json:"unchanged,omitempty"`
}

type Limits struct {
	AgentID         string  `json:"agentId"`
	Date            string  `json:"date"`
	DailyLimitUSDC  *Number `json:"dailyLimitUSDC"`
	SpentUSDC       Number  `json:"spentUSDC"`
	HeldUSDC        Number  `json:"heldUSDC"`
	RemainingUSDC   *Number `json:"remainingUSDC"`
	MaxSingleTxUSDC *Number `json:"maxSingleTxUSDC"`
	Fleet           *struct {
		FleetID        string  `json:"fleetId"`
		DailyLimitUSDC *Number `json:"dailyLimitUSDC"`
		SpentUSDC      Number  `json:"spentUSDC"`
		HeldUSDC       Number  `json:"heldUSDC"`
		RemainingUSDC  *Number `json:"remainingUSDC"`
	} `json:"fleet"`
	Operator struct {
		OperatorID     string  `json:"operatorId"`
		DailyLimitUSDC *Number `json:"dailyLimitUSDC"`
		SpentUSDC      Number  `json:"spentUSDC"`
		HeldUSDC       Number  `json:"heldUSDC"`
		RemainingUSDC  *Number `json:"remainingUSDC"`
	} `json:"operator"`
	Ancestors []struct {
		AgentID        string  `json:"agentId"`
		DailyLimitUSDC *Number `json:"dailyLimitUSDC"`
		SpentUSDC      Number  `json:"spentUSDC"`
		HeldUSDC       Number  `json:"heldUSDC"`
		RemainingUSDC  *Number `json:"remainingUSDC"`
	} `json:"ancestors"`
	AvailableUSDC *Number `json:"availableUSDC"`
	AsOfIndex     int64   `json:"asOfIndex"`
}

type NewSettings struct {
	OperatingHours           *OperatingHours    `json:"operatingHours,omitempty"`
	Velocity                 *Velocity          `json:"velocity,omitempty"`
	AllowedCounterpartyTypes *CounterpartyTypes `json:"allowedCounterpartyTypes,omitempty"`
	Whitelist                *NewWhitelist      `json:"whitelist,omitempty"`
	Possession               Possession         `json:"possession,omitempty"`
	Reason                   *string            `json:"reason,omitempty" length:"-TextMax"`
	Actor                    *string            `json:"actor,omitempty" length:"-FieldMax"`
}

type WhitelistEdit struct {
	Mode    *string      `json:"mode,omitempty" schema:"{\"enum\": [\"enforce\", \"off\", null]}"`
	Kinds   *[]string    `json:"kinds,omitempty" each:"{\"enum\": [\"wallet\", \"name\"]}" items:"-2"`
	Entries *[]KeptEntry `json:"entries,omitempty" items:"-WhitelistMax"`
	Reason  *string      `json:"reason,omitempty" length:"-TextMax"`
	Actor   *string      `json:"actor,omitempty" length:"-FieldMax"`
}

type EntryEdit struct {
	NewEntry
	Reason *string `json:"reason,omitempty" length:"-TextMax"`
	Actor  *string `json:"actor,omitempty" length:"-FieldMax"`
}
