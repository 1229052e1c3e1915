// RUN: tierup-opt %s --split-input-file --tierup-verify-errors --verify-diagnostics

// Whether a size that only the run knows is negative no check of ours asks of one that nobody uses.
func.func @unused(%x: !torch.vtensor<[4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [4]}}, %n: !torch.int {tierup.guard = {kind = "int"}}) -> !torch.vtensor<[4],f32> attributes {tierup.entry} {
  // expected-error@below {{nobody uses its result, and whether it raises is for tier 0 to say}}
  %0 = torch.aten.unsqueeze %x, %n : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor
  return %x : !torch.vtensor<[4],f32>
}

// -----
// Used by what nobody uses, it goes with that.
func.func @used_in_vain(%x: !torch.vtensor<[4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [4]}}, %n: !torch.int {tierup.guard = {kind = "int"}}) -> !torch.vtensor<[4],f32> attributes {tierup.entry} {
  // expected-error@below {{nobody uses its result, and whether it raises is for tier 0 to say}}
  %0 = torch.aten.unsqueeze %x, %n : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  return %x : !torch.vtensor<[4],f32>
}

// -----
// Used, it is lowered or refused; checked, a failure is noticed; and what cannot raise may go.
func.func @fine(%x: !torch.vtensor<[4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [4]}}, %i: !torch.vtensor<[2],si64> {tierup.guard = {dtype = "i64", kind = "array", sizes = [2]}}) -> !torch.vtensor<[4],f32> attributes {tierup.entry} {
  %zero = torch.constant.int 0
  %0 = torch.aten.index_select %x, %zero, %i : !torch.vtensor<[4],f32>, !torch.int, !torch.vtensor<[2],si64> -> !torch.vtensor<[2],f32>
  %1 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %x : !torch.vtensor<[4],f32>
}
