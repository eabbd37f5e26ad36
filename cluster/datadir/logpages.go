package datadir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// In the log's file only the headers have checksums. The library that maps it trusts the
// content of pages: it ends the process from its own goroutine if one is invalid, or takes an
// unreadable table name for a new, empty log. So every page in use is checked before: that it
// is valid, is used once, has its keys in order, and leads to the two tables of a log with
// consecutive entries. The texts of entries have checksums of their own.
const (
	pageHead     = 16 // Number, flags, count of elements, count of pages that follow.
	pageElement  = 16
	pageBranch   = 0x01
	pageLeaf     = 0x02
	elementTable = 0x01 // Flag of an element whose value is a table.
	tableHead    = 16   // Root page (0: the table's only page follows this head), sequence.
	metaRootAt   = 16
	treeDepthMax = 32
	elementMax   = 1 << 16 // Bytes of a key, or of a table inside a value.
)

// The tables and keys of a log.
var (
	entryTable = []byte("logs")
	voteTable  = []byte("conf")
	voteKeys   = [][]byte{[]byte("CurrentTerm"), []byte("LastVoteTerm"), []byte("LastVoteCand"), boundsKey}
)

// logBlocks walks over the pages of a log's file.
type logBlocks struct {
	file io.ReaderAt
	meta *logMeta
	used map[uint64]bool
}

// checkPages checks every page in use.
func checkPages(file io.ReaderAt, meta *logMeta) error {
	w := &logBlocks{file: file, meta: meta, used: make(map[uint64]bool)}
	tables := 0
	err := w.walkTree(meta.root, func(name, value []byte, table bool) error {
		tables++
		switch {
		case !table:
			return fmt.Errorf("%q is no table of a log", name)
		case bytes.Equal(name, entryTable):
			return w.walkTable(value, w.checkEntries())
		case bytes.Equal(name, voteTable):
			return w.walkTable(value, checkVote)
		}
		return fmt.Errorf("there is no table %q in a log", name)
	})
	if err == nil && tables != 0 && tables != 2 { // Without tables the file was made and nothing was written yet.
		err = fmt.Errorf("%d of 2 tables", tables)
	}
	return err
}

// element is called for each element that a walk finds in a leaf. value is nil unless it is a
// table.
type element func(key, value []byte, table bool) error

// checkEntries checks that entries follow one another.
func (w *logBlocks) checkEntries() element {
	var last uint64
	return func(key, _ []byte, table bool) error {
		if len(key) != 8 || table {
			return fmt.Errorf("%x is no index of an entry", key)
		}
		index := binary.BigEndian.Uint64(key)
		if last != 0 && index != last+1 {
			return fmt.Errorf("entry %d comes after entry %d", index, last)
		}
		last = index
		return nil
	}
}

func checkVote(key, _ []byte, table bool) error {
	for _, known := range voteKeys {
		if bytes.Equal(key, known) && !table {
			return nil
		}
	}
	return fmt.Errorf("%q is nothing that a log keeps beside its entries", key)
}

// walkTable walks over a table, which has pages of its own or is inside its value.
func (w *logBlocks) walkTable(value []byte, found element) error {
	if len(value) < tableHead {
		return fmt.Errorf("a table's head has %d bytes", len(value))
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return w.walkTree(root, found)
	}
	inside := value[tableHead:]
	p, err := readPage(bytes.NewReader(inside), 0, int64(len(inside)))
	if err != nil {
		return err
	}
	if p.flags != pageLeaf {
		return fmt.Errorf("a small table has flags %x", p.flags)
	}
	return p.eachElement(found, &order{})
}

// walkTree walks over the pages below a root, in the order of their keys.
func (w *logBlocks) walkTree(root uint64, found element) error {
	return w.descendTree(root, found, &order{}, 0)
}

// order checks the keys on a walk: each is above the last one, and not below the key in the
// branch that led to its leaf.
type order struct{ last, floor []byte }

var (
	errOrder  = errors.New("its keys are not in order")
	errBeyond = errors.New("an element goes beyond its page")
)

func (w *logBlocks) descendTree(number uint64, found element, o *order, depth int) error {
	if depth == treeDepthMax {
		return fmt.Errorf("page %d is too deep", number)
	}
	p, err := w.readPage(number)
	if err != nil {
		return err
	}
	if p.flags == pageLeaf {
		if err := p.eachElement(found, o); err != nil {
			return fmt.Errorf("page %d: %w", number, err)
		}
		return nil
	}
	if p.count == 0 {
		return fmt.Errorf("page %d leads nowhere", number)
	}
	for i := range p.count {
		at, e := p.elementAt(i)
		key, err := p.bytesTo(at+int64(binary.NativeEndian.Uint32(e)), binary.NativeEndian.Uint32(e[4:]))
		if err != nil {
			return fmt.Errorf("page %d: %w", number, err)
		}
		if bytes.Compare(o.last, key) >= 0 || bytes.Compare(key, o.floor) < 0 {
			return fmt.Errorf("page %d: %w", number, errOrder)
		}
		o.floor = append(o.floor[:0], key...)
		if err := w.descendTree(binary.NativeEndian.Uint64(e[8:]), found, o, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// readPage reads a page. A page that was read before is refused.
func (w *logBlocks) readPage(number uint64) (*logBlock, error) {
	if number < 2 || number >= w.meta.pages {
		return nil, fmt.Errorf("page %d of %d is none that can hold something", number, w.meta.pages)
	}
	size := w.meta.pageSize
	p, err := readPage(w.file, int64(number)*size, size)
	if err != nil {
		return nil, fmt.Errorf("page %d: %w", number, err)
	}
	switch {
	case p.number != number:
		return nil, fmt.Errorf("page %d calls itself %d", number, p.number)
	case p.flags != pageLeaf && p.flags != pageBranch:
		return nil, fmt.Errorf("page %d has flags %x", number, p.flags)
	case p.more >= w.meta.pages-number:
		return nil, fmt.Errorf("page %d goes on for %d pages", number, p.more)
	}
	for i := number; i <= number+p.more; i++ {
		if w.used[i] {
			return nil, fmt.Errorf("page %d is used twice", i)
		}
		w.used[i] = true
	}
	p.size = int64(p.more+1) * size
	if int64(p.count)*pageElement+pageHead > p.size {
		return nil, fmt.Errorf("page %d has no room for %d elements", number, p.count)
	}
	if missing := int64(p.count)*pageElement + pageHead - int64(len(p.head)); missing > 0 {
		p.head = make([]byte, p.size)
		if _, err := w.file.ReadAt(p.head, p.from); err != nil {
			return nil, fmt.Errorf("page %d: %w", number, err)
		}
	}
	return p, nil
}

// logBlock is a page with the pages that continue it.
type logBlock struct {
	file   io.ReaderAt
	from   int64 // Its place in the file.
	size   int64
	head   []byte // Its first bytes, all elements among them.
	number uint64
	flags  uint16
	count  int
	more   uint64 // Count of the pages that continue it.
}

func readPage(file io.ReaderAt, from, size int64) (*logBlock, error) {
	p := &logBlock{file: file, from: from, size: size, head: make([]byte, max(size, 0))}
	if _, err := file.ReadAt(p.head, from); err != nil && err != io.EOF {
		return nil, err
	}
	if size < pageHead {
		return nil, fmt.Errorf("a page of %d bytes", size)
	}
	p.number = binary.NativeEndian.Uint64(p.head)
	p.flags = binary.NativeEndian.Uint16(p.head[8:])
	p.count = int(binary.NativeEndian.Uint16(p.head[10:]))
	p.more = uint64(binary.NativeEndian.Uint32(p.head[12:]))
	if p.more == 0 && int64(p.count)*pageElement+pageHead > size {
		return nil, fmt.Errorf("no room for %d elements", p.count)
	}
	if !p.countsRight() {
		return nil, fmt.Errorf("%d elements, and their texts begin elsewhere than behind them", p.count)
	}
	return p, nil
}

// countsRight reports whether the text of the first element follows the last element, as the library writes
// it. A page that counts fewer elements than it has would otherwise hide the end of the log.
func (p *logBlock) countsRight() bool {
	if len(p.head) < pageHead+pageElement || p.flags != pageLeaf && p.flags != pageBranch {
		return true // An empty table inside a value, or a page that is refused for its flags.
	}
	_, first := p.elementAt(0)
	if p.flags == pageLeaf {
		first = first[4:]
	}
	return int64(binary.NativeEndian.Uint32(first)) == int64(p.count)*pageElement // 0 elements: nothing was written.
}

func (p *logBlock) elementAt(i int) (at int64, e []byte) {
	at = pageHead + int64(i)*pageElement
	return at, p.head[at : at+pageElement]
}

// bytesTo returns the size bytes of the page that begin at offset at.
func (p *logBlock) bytesTo(at int64, size uint32) ([]byte, error) {
	switch end := at + int64(size); {
	case end > p.size:
		return nil, errBeyond
	case size > elementMax:
		return nil, fmt.Errorf("a key of %d bytes", size)
	case end <= int64(len(p.head)):
		return p.head[at:end], nil
	}
	data := make([]byte, size)
	_, err := p.file.ReadAt(data, p.from+at)
	return data, err
}

// eachElement calls found for each of a leaf's elements.
func (p *logBlock) eachElement(found element, o *order) error {
	for i := range p.count {
		at, e := p.elementAt(i)
		at += int64(binary.NativeEndian.Uint32(e[4:]))
		keySize, valueSize := binary.NativeEndian.Uint32(e[8:]), binary.NativeEndian.Uint32(e[12:])
		key, err := p.bytesTo(at, keySize)
		if err != nil {
			return err
		}
		if bytes.Compare(o.last, key) >= 0 || bytes.Compare(key, o.floor) < 0 {
			return errOrder
		}
		o.last = append(o.last[:0], key...)
		if at+int64(keySize)+int64(valueSize) > p.size {
			return errBeyond
		}
		var value []byte
		table := binary.NativeEndian.Uint32(e)&elementTable != 0
		if table {
			if value, err = p.bytesTo(at+int64(keySize), valueSize); err != nil {
				return err
			}
		}
		if err := found(key, value, table); err != nil {
			return err
		}
	}
	return nil
}
