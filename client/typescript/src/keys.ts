// Published keys, and what a credential says.

export interface JWK {
  kty: string;
  crv: string;
  kid: string;
  alg?: string;
  use?: string;
  x: string;
  y: string;
  [member: string]: unknown;
}
export interface JWKS {
  keys: JWK[];
}

export interface Claims {
  iss: string;
  sub: string;
  jti: string;
  iat: number;
  nbf: number;
  exp: number;
  vc: Record<string, unknown>;
  status?: { status_list: { idx: number; uri: string } };
}
