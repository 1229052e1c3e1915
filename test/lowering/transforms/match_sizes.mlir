// RUN: tierup-opt %s --tierup-match-sizes | FileCheck %s
// RUN: tierup-opt %s --tierup-match-sizes --tierup-match-sizes | FileCheck %s

// CHECK-LABEL: func.func @of_masks
// CHECK-COUNT-1: torch.runtime.assert [[OK:%.+]], "two sizes that only the run knows differ"
// CHECK-NEXT: [[SAME:%.+]] = torch.prim.If [[OK]]
// CHECK-NEXT: torch.prim.If.yield %1
// CHECK: torch.aten.zeros
// CHECK: torch.aten.mul.Tensor %0, [[SAME]] {{[{]}}tierup.matched}
func.func @of_masks(%x: !torch.vtensor<[6],f32> {tierup.guard = {dtype = "f32", kind = "array", layout = "contiguous", sizes = [6]}}, %m: !torch.vtensor<[6],i1> {tierup.guard = {dtype = "bool", kind = "array", layout = "contiguous", sizes = [6]}},
                    %n: !torch.vtensor<[6],i1> {tierup.guard = {dtype = "bool", kind = "array", layout = "contiguous", sizes = [6]}}) -> !torch.vtensor<[?],f32> attributes {tierup.entry} {
  %0 = torch.aten.masked_select %x, %m : !torch.vtensor<[6],f32>, !torch.vtensor<[6],i1> -> !torch.vtensor<[?],f32>
  %1 = torch.aten.masked_select %x, %n : !torch.vtensor<[6],f32>, !torch.vtensor<[6],i1> -> !torch.vtensor<[?],f32>
  %2 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  return %2 : !torch.vtensor<[?],f32>
}

// CHECK-LABEL: func.func @of_one_mask
// CHECK-NOT: assert
func.func @of_one_mask(%x: !torch.vtensor<[6],f32> {tierup.guard = {dtype = "f32", kind = "array", layout = "contiguous", sizes = [6]}}, %m: !torch.vtensor<[6],i1> {tierup.guard = {dtype = "bool", kind = "array", layout = "contiguous", sizes = [6]}}) -> !torch.vtensor<[?],f32> attributes {tierup.entry} {
  %0 = torch.aten.masked_select %x, %m : !torch.vtensor<[6],f32>, !torch.vtensor<[6],i1> -> !torch.vtensor<[?],f32>
  %1 = torch.aten.neg %0 : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  %2 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  return %2 : !torch.vtensor<[?],f32>
}
