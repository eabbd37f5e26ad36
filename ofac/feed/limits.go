package feed

// Bounds on what a list file may hold. The largest real file known, an
// SDN_ADVANCED.XML of 2025-11-19, has 121 MB, 18,367 parties, 48,482 names, 96
// names in one party, 761 digital currency addresses and 512 bytes in its
// longest line; every bound leaves room for many years of growth.
const (
	// CompressedBytesMax bounds a file as stored, when it is compressed.
	CompressedBytesMax = 256 << 20
	// UncompressedBytesMax bounds the size of a plain file and of an unpacked one.
	UncompressedBytesMax = 1 << 30
	// ZstdWindowBytesMax bounds the window a Zstandard frame may ask for.
	ZstdWindowBytesMax = 128 << 20
	// ZipMembersMax bounds the members of a zip archive.
	ZipMembersMax = 16
	// ZipDirectoryBytesMax bounds the central directory of a zip archive, which
	// is held in memory before a member can be read.
	ZipDirectoryBytesMax = 32 << 10
	// FolderFilesMax bounds the entries of a folder that LoadDir looks at, and
	// the files of one LoadFiles call.
	FolderFilesMax = 4096

	// TagBytesMax bounds one XML tag, comment or declaration.
	TagBytesMax = 16 << 10
	// FieldBytesMax bounds one run of XML text, one element's text, one CSV field.
	FieldBytesMax = 64 << 10
	// AttributesMax bounds the attributes of one XML element.
	AttributesMax = 16
	// DepthMax bounds the nesting of XML elements; the real files reach 11.
	DepthMax = 32
	// CSVRecordsMax bounds the records of one CSV file.
	CSVRecordsMax = 2_000_000

	// EntitiesMax bounds the entities of one file.
	EntitiesMax = 200_000
	// NamesPerEntityMax bounds the names of one entity.
	NamesPerEntityMax = 2_000
	// PartsPerNameMax bounds the typed parts of one name.
	PartsPerNameMax = 32
	// NameBytesMax bounds one full name and one part of a name.
	NameBytesMax = 1_000
	// NamesMax bounds all names of one file.
	NamesMax = 500_000
	// AddressesPerEntityMax bounds the digital currency addresses of one entity.
	AddressesPerEntityMax = 8_000
	// AddressBytesMax bounds one digital currency address.
	AddressBytesMax = 256
	// LabelBytesMax bounds a list name, programme code, ticker, script or other
	// word of a controlled vocabulary.
	LabelBytesMax = 256
	// LabelsPerEntityMax bounds the sublists, and the programmes, of one entity.
	LabelsPerEntityMax = 128
	// ReferenceValuesMax bounds one table of reference values, and the distinct
	// labels of one file.
	ReferenceValuesMax = 10_000

	// WarningsMax bounds the warnings of one load; one more line counts the rest.
	WarningsMax = 100
)
