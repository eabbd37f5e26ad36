package x402

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Asset is a token of which 10^Decimals atomic units are worth a dollar.
type Asset struct {
	Network  string // CAIP-2.
	Address  string // Contract or mint, as the network writes it.
	Decimals int    // One dollar has 10 to the power of Decimals atomic units.
	Chain    string // What the API calls the network: ETH, BASE or SOL.
}

// Published are the assets of a service whose settings name none: USDC, at the addresses that
// its issuer publishes.
var Published = []Asset{
	{"eip155:1", "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6, "ETH"},
	{"eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", 6, "BASE"},
	{"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", 6, "SOL"},
}

const (
	assetsMax   = 64
	decimalsMax = 30
)

// ParseAssets reads assets written as NETWORK/ADDRESS/DECIMALS/CHAIN, such as
// eip155:84532/0x036CbD53842c5426634e7929541eC2318f3dCF7e/6/BASE.
func ParseAssets(texts []string) ([]Asset, error) {
	if len(texts) > assetsMax {
		return nil, fmt.Errorf("at most %d assets", assetsMax)
	}
	var assets []Asset
	for _, text := range texts {
		asset, err := parseAsset(text)
		if err != nil {
			return nil, fmt.Errorf("asset %q: %w", text, err)
		}
		if findAsset(assets, asset.Network, asset.Address) != nil {
			return nil, fmt.Errorf("asset %q stands twice", text)
		}
		assets = append(assets, asset)
	}
	return assets, nil
}

func parseAsset(text string) (Asset, error) {
	parts := strings.Split(strings.TrimSpace(text), "/")
	if len(parts) != 4 {
		return Asset{}, errors.New("must be NETWORK/ADDRESS/DECIMALS/CHAIN")
	}
	decimals, err := strconv.ParseUint(parts[2], 10, 8)
	asset := Asset{Network: parts[0], Address: parts[1], Decimals: int(decimals), Chain: parts[3]}
	space, reference, pair := strings.Cut(asset.Network, ":")
	switch {
	case !pair || space == "" || reference == "":
		return Asset{}, errors.New("the network must be a CAIP-2 id, such as eip155:8453")
	case err != nil || decimals > decimalsMax:
		return Asset{}, fmt.Errorf("decimals must be 0 to %d", decimalsMax)
	case asset.Chain != "ETH" && asset.Chain != "BASE" && asset.Chain != "SOL":
		return Asset{}, errors.New("the chain must be ETH, BASE or SOL")
	case asset.evm() && !isHexadecimal(asset.Address, 40):
		return Asset{}, errors.New("the address must be 0x and 40 hexadecimal digits")
	case asset.Address == "" || len(asset.Address) > 128:
		return Asset{}, errors.New("the address must have 1 to 128 characters")
	}
	return asset, nil
}

// evm tells whether the network's addresses are 20 bytes in hexadecimal digits.
func (a *Asset) evm() bool { return strings.HasPrefix(a.Network, "eip155:") }

// sameAddress tells whether two texts are one address of the asset's network.
func (a *Asset) sameAddress(one, other string) bool {
	if a.evm() {
		return strings.EqualFold(one, other)
	}
	return one == other
}

func findAsset(assets []Asset, network, address string) *Asset {
	for i := range assets {
		if a := &assets[i]; a.Network == network && a.sameAddress(a.Address, address) {
			return a
		}
	}
	return nil
}

// dollars is an amount of atomic units as a JSON number, digit by digit.
func (a *Asset) dollars(units string) string {
	if a.Decimals == 0 {
		return units
	}
	if missing := a.Decimals + 1 - len(units); missing > 0 {
		units = strings.Repeat("0", missing) + units
	}
	point := len(units) - a.Decimals
	whole, fraction := units[:point], strings.TrimRight(units[point:], "0")
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// isHexadecimal tells whether text is 0x and so many hexadecimal digits.
func isHexadecimal(text string, digits int) bool {
	rest, ok := strings.CutPrefix(text, "0x")
	return ok && len(rest) == digits && strings.Trim(rest, "0123456789abcdefABCDEF") == ""
}

// names1 are what version 1 of the protocol calls networks.
var names1 = map[string]string{
	"ethereum": "eip155:1", "sepolia": "eip155:11155111", "base": "eip155:8453", "base-sepolia": "eip155:84532",
	"polygon": "eip155:137", "polygon-amoy": "eip155:80002", "avalanche": "eip155:43114", "avalanche-fuji": "eip155:43113",
	"solana": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "solana-devnet": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
}

// networkID returns the CAIP-2 id of a network that is named as a version of the protocol names
// it; "": there is no such network.
func networkID(version int, network string) string {
	if version == 1 {
		return names1[network]
	}
	return network
}
