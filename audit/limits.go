package audit

// Bounds of the store. Sizes are in bytes.
const (
	// LeafSizeMax is the largest leaf: entry bundles write a leaf's length in 16 bits (C2SP
	// tlog-tiles), which cannot hold 65,536.
	LeafSizeMax = 1<<16 - 1
	// LeafKeysMax bounds the filter keys of one leaf.
	LeafKeysMax = 32
	// SegmentLevelMax is the height of a segment's subtree: 2^16 leaves.
	SegmentLevelMax = 16
	// SegmentLevelMin makes a segment of two bundles, for tests and simulators.
	SegmentLevelMin = 9

	// BundleLeaves is how many neighbouring leaves a bundle has. They are compressed, served
	// and fetched together.
	BundleLeaves = 1 << bundleLevel
	bundleLevel  = 8

	segmentsMax = 1_000_000_000 // segment numbers fill three folders of three digits

	tailsMax         = 64 // open unsealed segments, of 3 MiB memory each
	sealBacklogMax   = 4  // full unsealed segments before Append helps the sealer
	writeChunkMax    = 4 << 20
	openSegmentsMax  = 64       // open file handles of sealed segments
	bundleCacheMax   = 16 << 20 // bytes of cached bundles
	damagedMax       = 1 << 16  // damaged bundles that are remembered
	segmentSizeMax   = 1 << 33  // 2^16 leaves of 64 KiB and their footer
	bundleRawSizeMax = BundleLeaves*(2+LeafSizeMax+10+2+8*LeafKeysMax) + 64
)
