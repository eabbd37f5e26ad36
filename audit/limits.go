package audit

// Bounds of the store. Sizes are in bytes.
const (
	// LeafSizeMax is the largest leaf: entry bundles frame a leaf with a
	// 16-bit length (C2SP tlog-tiles), so a leaf of 65,536 bytes has no form.
	LeafSizeMax = 1<<16 - 1
	// LeafKeysMax bounds the filter keys of one leaf.
	LeafKeysMax = 32
	// SegmentLevelMax is the height of a segment's subtree: 2^16 leaves.
	SegmentLevelMax = 16
	// SegmentLevelMin keeps two bundles in a segment, for tests and simulators.
	SegmentLevelMin = 9

	// BundleLeaves is how many neighbouring leaves are a bundle: they are compressed,
	// served and fetched together.
	BundleLeaves = 1 << bundleLevel
	bundleLevel  = 8

	segmentsMax = 1_000_000_000 // three folders of three digits

	tailsMax         = 64 // open unsealed segments, of 3 MiB memory each
	sealBacklogMax   = 4  // full unsealed segments before Append helps the sealer
	writeChunkMax    = 4 << 20
	openSegmentsMax  = 64       // file handles of sealed segments
	bundleCacheMax   = 16 << 20 // decoded bundles
	damagedMax       = 1 << 16  // remembered damaged bundles
	segmentSizeMax   = 1 << 33  // 2^16 leaves of 64 KiB and their footer
	bundleRawSizeMax = BundleLeaves*(2+LeafSizeMax+10+2+8*LeafKeysMax) + 64
)
