package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
)

// Keys are the keys or the passphrase with which a file is encrypted or opened.
type Keys struct {
	Recipients []string // age1…, public.
	Identities []byte   // Content of an identity file of age (AGE-SECRET-KEY-1…).
	Passphrase string
	// Derived are passphrases made from the cluster secret, the present one first: with them the
	// nodes encrypt and open the cluster's own backups, and nobody else needs a key for a restore
	// but the secret that it needs anyway.
	Derived []string

	until context.Context // When it ends, so does the reading and writing of files. nil: it never does.
}

// Until returns the same keys, with which files are read and written until ctx ends: a node that
// stops, or leads no more, does not finish a copy of hours.
func (k *Keys) Until(ctx context.Context) *Keys {
	bounded := *k
	bounded.until = ctx
	return &bounded
}

// untilReader ends with its context.
type untilReader struct {
	ctx  context.Context
	from io.Reader
}

func (u *untilReader) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.from.Read(p)
}

// disk is where a file is written. It keeps the first error: whoever reads along may only see that
// something was cut.
type disk struct {
	ctx context.Context // nil: it never ends.
	to  io.Writer
	err error
}

func (d *disk) Write(p []byte) (n int, err error) {
	if d.ctx != nil {
		err = d.ctx.Err()
	}
	if err == nil {
		n, err = d.to.Write(p)
	}
	if d.err == nil {
		d.err = err
	}
	return n, err
}

// derivedWork is the work factor of a derived passphrase, as a power of two. Its 32 random bytes
// cannot be guessed, so making guesses slow would only slow down restores.
const derivedWork = 4

// PassphraseMin is the shortest passphrase a backup is written with, in bytes.
const PassphraseMin = 16

// ErrKey says that a file cannot be opened with the given keys or passphrase.
var ErrKey = errors.New("backup: the file cannot be opened with this key or passphrase")

// Check returns why a file cannot be encrypted with these keys, or nil if it can.
func (k *Keys) Check() error {
	_, err := k.parseRecipients()
	return err
}

func (k *Keys) parseRecipients() ([]age.Recipient, error) {
	switch {
	case len(k.Recipients) > 0 && k.Passphrase != "":
		return nil, errors.New("backup: encrypt to recipients or with a passphrase, not both")
	case len(k.Recipients) == 0 && k.Passphrase == "" && len(k.Derived) > 0:
		r, err := age.NewScryptRecipient(k.Derived[0])
		if err != nil {
			return nil, fmt.Errorf("backup: passphrase: %w", err)
		}
		r.SetWorkFactor(derivedWork)
		return []age.Recipient{r}, nil
	case len(k.Recipients) == 0 && k.Passphrase == "":
		return nil, errors.New("backup: a backup holds everybody's data and is always encrypted: give a recipient (age1…) or a passphrase")
	case k.Passphrase != "" && len(k.Passphrase) < PassphraseMin:
		return nil, fmt.Errorf("backup: the passphrase has %d bytes, and fewer than %d are guessed", len(k.Passphrase), PassphraseMin)
	case k.Passphrase != "":
		r, err := age.NewScryptRecipient(k.Passphrase)
		if err != nil {
			return nil, fmt.Errorf("backup: passphrase: %w", err)
		}
		return []age.Recipient{r}, nil
	}
	all, err := age.ParseRecipients(strings.NewReader(strings.Join(k.Recipients, "\n")))
	if err != nil {
		return nil, fmt.Errorf("backup: recipient: %w", err)
	}
	return all, nil
}

func (k *Keys) parseIdentities() ([]age.Identity, error) {
	if k.Passphrase != "" {
		one, err := age.NewScryptIdentity(k.Passphrase)
		if err != nil {
			return nil, fmt.Errorf("backup: passphrase: %w", err)
		}
		return []age.Identity{one}, nil
	}
	if len(k.Identities) == 0 && len(k.Derived) > 0 {
		var all []age.Identity
		for _, passphrase := range k.Derived {
			one, err := age.NewScryptIdentity(passphrase)
			if err != nil {
				return nil, fmt.Errorf("backup: passphrase: %w", err)
			}
			all = append(all, one)
		}
		return all, nil
	}
	all, err := age.ParseIdentities(strings.NewReader(string(k.Identities)))
	if err != nil {
		return nil, fmt.Errorf("backup: identity: %w", err)
	}
	return all, nil
}

// unendedSuffix ends the name of a file that is still being written. No verb reads such a file.
const unendedSuffix = ".part"

// Create writes a backup file of the parts that plain gives, and proves them at the same time:
// it reads them into a scratch state, whose digest, tree head and key set must be those of the
// manifest. Then it asks each function of agree, which may still refuse. The file gets its name
// last, when everything is on disk, so no file of that name exists after an error. Create never
// replaces a file.
func Create(path string, keys *Keys, plain io.Reader, agree ...func(*Report) error) (report *Report, err error) {
	err = writeSealed(path, keys, func(sealed io.Writer) error {
		if report, err = proveParts(io.TeeReader(plain, sealed), nil); err != nil {
			return err
		}
		for _, agrees := range agree {
			if err := agrees(report); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

// writeSealed makes an encrypted file of what write gives. The file gets its name last, and
// replaces none.
func writeSealed(path string, keys *Keys, write func(sealed io.Writer) error) (err error) {
	recipients, err := keys.parseRecipients()
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("backup: %s exists already", path)
	}
	file, err := os.OpenFile(path+unendedSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close(), os.Remove(path+unendedSuffix))
		}
	}()
	to := &disk{ctx: keys.until, to: file}
	sealed, err := age.Encrypt(to, recipients...)
	if err != nil {
		return fmt.Errorf("backup: encryption: %w", err)
	}
	if err = write(sealed); err == nil {
		err = sealed.Close()
	}
	if to.err != nil {
		return fmt.Errorf("backup: %s cannot be written: %w", filepath.Base(path), to.err)
	}
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		return err
	}
	if err = file.Close(); err == nil {
		err = giveName(path)
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return syncFolder(filepath.Dir(path))
}

// linkFile is os.Link, where a test does not say otherwise.
var linkFile = os.Link

// giveName gives a finished file its name. Unlike Rename, Link replaces nothing; a mount that knows
// no second name of a file, as those of object stores and of Windows servers, gets a Rename after a look.
func giveName(path string) error {
	err := linkFile(path+unendedSuffix, path)
	switch {
	case err == nil:
		return os.Remove(path + unendedSuffix)
	case errors.Is(err, os.ErrExist):
		return err
	}
	if _, there := os.Lstat(path); there == nil {
		return fmt.Errorf("%s exists already", path)
	}
	return os.Rename(path+unendedSuffix, path)
}

// openFile opens an encrypted file; plain reads its parts. The caller closes the file.
func openFile(path string, keys *Keys) (file *os.File, plain io.Reader, err error) {
	identities, err := keys.parseIdentities()
	if err != nil {
		return nil, nil, err
	}
	if file, err = os.Open(path); err != nil {
		return nil, nil, fmt.Errorf("backup: %w", err)
	}
	var from io.Reader = file
	if keys.until != nil {
		from = &untilReader{keys.until, file}
	}
	plain, err = age.Decrypt(from, identities...)
	if err == nil {
		return file, plain, nil
	}
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		err = fmt.Errorf("%w, or its encryption header is damaged", ErrKey)
	} else {
		err = fmt.Errorf("backup: part encryption header is damaged: %w", err)
	}
	return nil, nil, errors.Join(fmt.Errorf("%s: %w", filepath.Base(path), err), file.Close())
}
