package index

// Bounds of the tables of one list, and of what is read from them for one word.
const (
	compiledBytesMax = 512 << 20            // The tables of one list. OFAC's have 20 MiB; a million of an institution's own rows have 300.
	namesMax         = 1 << 22              // Names of one list, weak ones included.
	tokenRowsMax     = 1<<holderRowBits - 1 // Words of all names of one list, including joins.
	vocabularyMax    = 1 << 18              // Distinct words of one list; the list of 2025 has 38,000.
	bucketProbeMax   = 64                   // Words read from one bucket of the deletion table.
	neighboursMax    = 160                  // Words close to one word.
	joinedPartsBytes = 4                    // Letters of a part of a joined pair.
	plainBytesMax    = 32                   // The key of an EVM account.
	walletBytesMax   = 520                  // The key of a wallet: a byte and the longest text that is read.
)
