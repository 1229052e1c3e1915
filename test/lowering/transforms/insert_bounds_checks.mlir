// RUN: tierup-opt %s --split-input-file --tierup-insert-bounds-checks | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-insert-bounds-checks --tierup-insert-bounds-checks | FileCheck %s

// CHECK-LABEL: func.func @gather
// CHECK: [[N:%.+]] = torch.aten.size.int %arg0, %int1
// CHECK: [[LOW:%.+]] = torch.aten.ge.Scalar %arg1, %int0
// CHECK: [[HIGH:%.+]] = torch.aten.lt.Scalar %arg1, [[N]]
// CHECK: [[BOTH:%.+]] = torch.aten.logical_and [[LOW]], [[HIGH]]
// CHECK: [[ALL:%.+]] = torch.aten.all [[BOTH]]
// CHECK: [[OK:%.+]] = torch.aten.Bool.Tensor [[ALL]]
// CHECK-NEXT: torch.runtime.assert [[OK]], "index out of range"
// CHECK-NOT: torch.runtime.assert
// CHECK: torch.aten.gather
func.func @gather(%x: !torch.vtensor<[5,?],f32>, %at: !torch.vtensor<[3,2],si64>) -> !torch.vtensor<[3,2],f32> {
  %int1 = torch.constant.int 1
  %false = torch.constant.bool false
  %0 = torch.aten.gather %x, %int1, %at, %false : !torch.vtensor<[5,?],f32>, !torch.int, !torch.vtensor<[3,2],si64>, !torch.bool -> !torch.vtensor<[3,2],f32>
  return %0 : !torch.vtensor<[3,2],f32>
}

// -----
// An index whose size only the run knows may be larger than the tensor: then nothing is read.
// CHECK-LABEL: func.func @larger
// CHECK: torch.runtime.assert {{.*}}, "index out of range"
// CHECK: [[FITS:%.+]] = torch.aten.le.int
// CHECK-NEXT: torch.runtime.assert [[FITS]], "the index is larger than the tensor"
// CHECK-NEXT: [[R:%.+]] = torch.prim.If [[FITS]]
// CHECK-NEXT: torch.aten.gather
// CHECK: else
// CHECK: torch.aten.new_zeros
// CHECK: return [[R]]
func.func @larger(%x: !torch.vtensor<[?,4],f32>, %at: !torch.vtensor<[?,2],si64>) -> !torch.vtensor<[?,2],f32> {
  %int1 = torch.constant.int 1
  %false = torch.constant.bool false
  %0 = torch.aten.gather %x, %int1, %at, %false : !torch.vtensor<[?,4],f32>, !torch.int, !torch.vtensor<[?,2],si64>, !torch.bool -> !torch.vtensor<[?,2],f32>
  return %0 : !torch.vtensor<[?,2],f32>
}

// -----
// Integers by a number that the run computes; not by one that is known, and not floats, whose remainder by 0 is NaN.
// CHECK-LABEL: func.func @divisors
// CHECK: [[OK:%.+]] = torch.aten.ne.int %arg1, %int0
// CHECK-NEXT: torch.runtime.assert [[OK]], "integer division or modulo by zero"
// CHECK-NEXT: torch.aten.remainder.Scalar %arg0, %arg1
// CHECK-NEXT: torch.aten.remainder.Scalar %arg0, %int3
// CHECK-NEXT: torch.aten.remainder.Scalar %arg2, %arg1
// CHECK: torch.runtime.assert
// CHECK-NEXT: torch.aten.floordiv.int
// CHECK-NOT: torch.runtime.assert
// CHECK: return
func.func @divisors(%x: !torch.vtensor<[4],si64>, %n: !torch.int, %f: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],si64>, !torch.vtensor<[4],si64>, !torch.vtensor<[4],f32>, !torch.int) {
  %int3 = torch.constant.int 3
  %0 = torch.aten.remainder.Scalar %x, %n : !torch.vtensor<[4],si64>, !torch.int -> !torch.vtensor<[4],si64>
  %1 = torch.aten.remainder.Scalar %x, %int3 : !torch.vtensor<[4],si64>, !torch.int -> !torch.vtensor<[4],si64>
  %2 = torch.aten.remainder.Scalar %f, %n : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  %3 = torch.aten.floordiv.int %int3, %n : !torch.int, !torch.int -> !torch.int
  return %0, %1, %2, %3 : !torch.vtensor<[4],si64>, !torch.vtensor<[4],si64>, !torch.vtensor<[4],f32>, !torch.int
}

// -----
// A position is checked, and then kept in range; one that fits a static size is neither; one along an axis of unknown size is both.
// CHECK-LABEL: func.func @positions
// CHECK: [[LOWEST:%.+]] = torch.aten.neg.int %int3
// CHECK: [[LOW:%.+]] = torch.aten.ge.int %arg1, [[LOWEST]]
// CHECK: [[HIGH:%.+]] = torch.aten.lt.int %arg1, %int3
// CHECK: [[BOTH:%.+]] = torch.aten.__and__.bool [[LOW]], [[HIGH]]
// CHECK-NEXT: torch.runtime.assert [[BOTH]]
// CHECK: [[BELOW:%.+]] = torch.prim.min.int %arg1,
// CHECK: [[AT:%.+]] = torch.prim.max.int [[BELOW]], [[LOWEST]]
// CHECK-NEXT: torch.aten.select.int %arg0, %int0, [[AT]]
// CHECK-NEXT: torch.aten.select.int %arg0, %int0, %int-3
// CHECK: torch.aten.size.int %arg0
// CHECK-COUNT-1: torch.runtime.assert
// CHECK-NOT: torch.runtime.assert
// CHECK: return
func.func @positions(%x: !torch.vtensor<[3,?],f32>, %i: !torch.int) -> (!torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>, !torch.vtensor<[3],f32>) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int-3 = torch.constant.int -3
  %0 = torch.aten.select.int %x, %int0, %i : !torch.vtensor<[3,?],f32>, !torch.int, !torch.int -> !torch.vtensor<[?],f32>
  %1 = torch.aten.select.int %x, %int0, %int-3 : !torch.vtensor<[3,?],f32>, !torch.int, !torch.int -> !torch.vtensor<[?],f32>
  %2 = torch.aten.select.int %x, %int1, %int0 : !torch.vtensor<[3,?],f32>, !torch.int, !torch.int -> !torch.vtensor<[3],f32>
  return %0, %1, %2 : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>, !torch.vtensor<[3],f32>
}

// -----
// Nothing to check: no elements, masks, ops that never raise for a value, types that are not known.
// CHECK-LABEL: func.func @nothing_to_check
// CHECK-NOT: torch.runtime.assert
// CHECK: return
func.func @nothing_to_check(%x: !torch.vtensor<[5],f32>, %none_at: !torch.vtensor<[0],si64>, %u: !torch.vtensor, %at: !torch.vtensor<[2],si64>) -> (!torch.vtensor<[0],f32>, !torch.vtensor<[5],f32>, !torch.vtensor) {
  %int0 = torch.constant.int 0
  %0 = torch.aten.index_select %x, %int0, %none_at : !torch.vtensor<[5],f32>, !torch.int, !torch.vtensor<[0],si64> -> !torch.vtensor<[0],f32>
  %1 = torch.aten.div.Tensor %x, %x : !torch.vtensor<[5],f32>, !torch.vtensor<[5],f32> -> !torch.vtensor<[5],f32>
  %2 = torch.aten.index_select %u, %int0, %at : !torch.vtensor, !torch.int, !torch.vtensor<[2],si64> -> !torch.vtensor
  return %0, %1, %2 : !torch.vtensor<[0],f32>, !torch.vtensor<[5],f32>, !torch.vtensor
}

// -----
// An item of a list at a position that the run computes.
// CHECK-LABEL: func.func @item
// CHECK: [[LOW:%.+]] = torch.aten.ge.int %arg0, %int-2
// CHECK-NEXT: torch.runtime.assert [[LOW]], "list index out of range"
// CHECK: [[HIGH:%.+]] = torch.aten.lt.int %arg0, %int2
// CHECK-NEXT: torch.runtime.assert [[HIGH]], "list index out of range"
// CHECK: [[FIRST:%.+]] = torch.aten.eq.int %arg0, %int1
// CHECK: [[LAST:%.+]] = torch.aten.eq.int %arg0, %int-1
// CHECK: [[SECOND:%.+]] = torch.aten.__or__.bool [[FIRST]], [[LAST]]
// CHECK-NEXT: torch.prim.If [[SECOND]] -> (!torch.int) {
// CHECK-NEXT: torch.prim.If.yield %arg1
// CHECK: torch.prim.If.yield %arg0
// CHECK-NOT: torch.runtime.assert
// CHECK: return
func.func @item(%i: !torch.int, %a: !torch.int) -> (!torch.int, !torch.int) {
  %int1 = torch.constant.int 1
  %0 = torch.prim.ListConstruct %i, %a : (!torch.int, !torch.int) -> !torch.list<int>
  %1 = torch.aten.__getitem__.t %0, %i : !torch.list<int>, !torch.int -> !torch.int
  %2 = torch.aten.__getitem__.t %0, %int1 : !torch.list<int>, !torch.int -> !torch.int
  return %1, %2 : !torch.int, !torch.int
}

// -----
// An axis that may have no elements: then zeros are read, one along it. A row is read as elements are, not viewed.
// CHECK-LABEL: func.func @may_be_empty
// CHECK: [[SIZE:%.+]] = torch.aten.size.int %arg0, %int0
// CHECK: torch.runtime.assert
// CHECK: [[SOME:%.+]] = torch.aten.gt.int
// CHECK: [[READ:%.+]] = torch.prim.If [[SOME]]
// CHECK-NEXT: torch.aten.index_select %arg0
// CHECK: } else {
// CHECK: [[ZEROS:%.+]] = torch.aten.new_zeros %arg0
// CHECK-NEXT: torch.aten.index_select [[ZEROS]]
// CHECK: torch.aten.squeeze.dim [[READ]]
// CHECK-NOT: torch.aten.select.int
func.func @may_be_empty(%x: !torch.vtensor<[?,7],f32>, %n: !torch.int) -> !torch.vtensor<[7],f32> {
  %int0 = torch.constant.int 0
  %0 = torch.aten.select.int %x, %int0, %n {tierup.may_be_empty} : !torch.vtensor<[?,7],f32>, !torch.int, !torch.int -> !torch.vtensor<[7],f32>
  return %0 : !torch.vtensor<[7],f32>
}

// -----
// A position that is known to be inside is not checked.
// CHECK-LABEL: func.func @inside
// CHECK-NOT: torch.runtime.assert
// CHECK: return
func.func @inside(%x: !torch.vtensor<[?],f32>, %n: !torch.int) -> !torch.vtensor<[],f32> {
  %int0 = torch.constant.int 0
  %0 = torch.aten.select.int %x, %int0, %n {tierup.inside = "from_start"} : !torch.vtensor<[?],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>
  return %0 : !torch.vtensor<[],f32>
}

// -----
// What reads and writes at one position of axes of one size is checked once.
// CHECK-LABEL: func.func @read_and_written
// CHECK: torch.runtime.assert
// CHECK: [[AT:%.+]] = torch.prim.max.int
// CHECK-NEXT: torch.aten.select.int %arg0, %int0, [[AT]]
// CHECK-NEXT: torch.aten.select_scatter %arg0, %{{.+}}, %int0, [[AT]]
// CHECK-NOT: torch.runtime.assert
// CHECK: return
func.func @read_and_written(%x: !torch.vtensor<[3],f32>, %i: !torch.int) -> !torch.vtensor<[3],f32> {
  %int0 = torch.constant.int 0
  %0 = torch.aten.select.int %x, %int0, %i : !torch.vtensor<[3],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>
  %1 = torch.aten.select_scatter %x, %0, %int0, %i : !torch.vtensor<[3],f32>, !torch.vtensor<[],f32>, !torch.int, !torch.int -> !torch.vtensor<[3],f32>
  return %1 : !torch.vtensor<[3],f32>
}

// -----
// A position that is known not to be negative is compared with 0 and the size, which LLVM does at once; a positive divisor is not checked.
// CHECK-LABEL: func.func @from_the_start
// CHECK: [[LOW:%.+]] = torch.aten.ge.int %arg1, %int0
// CHECK: [[HIGH:%.+]] = torch.aten.lt.int %arg1, %int5
// CHECK: [[BOTH:%.+]] = torch.aten.__and__.bool [[LOW]], [[HIGH]]
// CHECK: torch.runtime.assert [[BOTH]]
// CHECK: [[BELOW:%.+]] = torch.prim.min.int %arg1,
// CHECK: torch.prim.max.int [[BELOW]], %int0
// CHECK-NOT: torch.runtime.assert
// CHECK: return
func.func @from_the_start(%x: !torch.vtensor<[5],f32>, %n: !torch.int, %m: !torch.int) -> (!torch.vtensor<[],f32>, !torch.int) {
  %int0 = torch.constant.int 0
  %0 = torch.aten.select.int %x, %int0, %n {tierup.not_negative} : !torch.vtensor<[5],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>
  %1 = torch.aten.remainder.int %n, %m {tierup.positive_divisor} : !torch.int, !torch.int -> !torch.int
  return %0, %1 : !torch.vtensor<[],f32>, !torch.int
}
