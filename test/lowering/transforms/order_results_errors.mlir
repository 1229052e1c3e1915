// RUN: tierup-opt %s --split-input-file --verify-diagnostics --tierup-order-results

// A region gives what it has written in place, as tier 0 would lay it out: of an array of any strides nobody knows how.
func.func @region(%x: !torch.vtensor<[?,?],f32> {tierup.guard = {dtype = "f32", kind = "array", layout = "strided", sizes = ["s0", "s1"]}})
    -> !torch.vtensor<[?,?],f32> attributes {tierup.entry, tierup.fallback, tierup.source = "torchscript"} {
  %one = torch.constant.int 1
  %no = torch.constant.bool false
  %0 = torch.aten.clamp %x, %one, %one : !torch.vtensor<[?,?],f32>, !torch.int, !torch.int -> !torch.vtensor<[?,?],f32>
  // expected-error@+1 {{how what is written lies in memory is known at run time only}}
  %1 = torch.aten.copy %x, %0, %no {tierup.inplace = "can_cast"} : !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>, !torch.bool -> !torch.vtensor<[?,?],f32>
  return %1 : !torch.vtensor<[?,?],f32>
}
