// RUN: tierup-opt %s --split-input-file --tierup-use-overflow-flags | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-use-overflow-flags --tierup-use-overflow-flags | FileCheck %s

// Whether the high half is the sign of the low one, asked either way, is what the flag says; the product is the low half.
// CHECK-LABEL: func.func @asked
// CHECK: %[[BOTH:.*]] = "llvm.intr.smul.with.overflow"(%arg0, %arg1) : (i64, i64) -> !llvm.struct<(i64, i1)>
// CHECK: %[[LOW:.*]] = llvm.extractvalue %[[BOTH]][0]
// CHECK: %[[BAD:.*]] = llvm.extractvalue %[[BOTH]][1]
// CHECK: %[[FITS:.*]] = arith.xori %[[BAD]], %true
// CHECK-NOT: arith.mulsi_extended
// CHECK: return %[[FITS]], %[[BAD]], %[[LOW]]
func.func @asked(%x: i64, %y: i64) -> (i1, i1, i64) {
  %c63 = arith.constant 63 : i64
  %low, %high = arith.mulsi_extended %x, %y : i64
  %sign = arith.shrsi %low, %c63 : i64
  %fits = arith.cmpi eq, %high, %sign : i64
  %bad = arith.cmpi ne, %sign, %high : i64
  return %fits, %bad, %low : i1, i1, i64
}

// -----
// Another shift, another comparison, the high half of another product: no question of whether the product fits.
// CHECK-LABEL: func.func @others
// CHECK-NOT: llvm.
// CHECK: return
func.func @others(%x: i64, %y: i64) -> (i1, i1, i1) {
  %c63 = arith.constant 63 : i64
  %c62 = arith.constant 62 : i64
  %low, %high = arith.mulsi_extended %x, %y : i64
  %other, %upper = arith.mulsi_extended %x, %x : i64
  %sign = arith.shrsi %low, %c63 : i64
  %bits = arith.shrsi %low, %c62 : i64
  %0 = arith.cmpi eq, %high, %bits : i64
  %1 = arith.cmpi slt, %high, %sign : i64
  %2 = arith.cmpi eq, %upper, %sign : i64
  return %0, %1, %2 : i1, i1, i1
}
